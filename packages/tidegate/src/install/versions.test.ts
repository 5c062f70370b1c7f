import { describe, expect, it } from 'vitest';
import { parseVersion, skewProblem, upgradeProblem } from './versions.ts';

describe('versions', () => {
  it('have three numbers and an optional suffix', () => {
    expect(parseVersion('v1.20.2-rc.1')).toEqual({ major: 1, minor: 20, patch: 2 });
    expect(parseVersion('latest')).toBeUndefined();
  });
});

describe('an upgrade', () => {
  it.each([
    ['0.2.0', '0.2.0'],
    ['0.2.0', '0.2.7'],
    ['0.2.9', '0.3.0'],
  ])('from %s to %s is allowed', (from, to) => {
    expect(upgradeProblem(from, to)).toBeUndefined();
  });

  it.each([
    ['0.3.0', '0.2.9', 'newer than this program'],
    ['0.2.1', '0.2.0', 'newer than this program'],
    ['0.2.0', '0.4.0', 'first to 0.3'],
    ['0.9.0', '1.0.0', 'one minor version at a time'],
    ['unknown', '1.0.0', 'cannot compare'],
  ])('from %s to %s is refused', (from, to, message) => {
    expect(upgradeProblem(from, to)).toContain(message);
  });
});

describe('a hub', () => {
  it.each([
    ['0.3.1', '0.3.0'],
    ['0.2.5', '0.3.0'],
  ])('of version %s works with a manager of version %s', (hub, manager) => {
    expect(skewProblem('the hub', hub, manager)).toBeUndefined();
  });

  it.each([
    ['0.4.0', '0.3.0', 'upgrade the manager first'],
    ['0.1.0', '0.3.0', 'more than one minor version older'],
    ['dev', '0.3.0', 'cannot be compared'],
  ])('of version %s does not fit to a manager of version %s', (hub, manager, message) => {
    expect(skewProblem('the hub', hub, manager)).toContain(message);
  });
});
