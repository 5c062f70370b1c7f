import { describe, expect, it } from 'vitest';
import { autonomyOf, isAutonomous, type PoolsOfNode } from './autonomy.ts';
import { group, node, pool } from './testing/objects.ts';

const DURATION = 'node.openyurt.io/autonomy-duration';
const AUTONOMY = 'node.beta.openyurt.io/autonomy';
const BINDING = 'apps.openyurt.io/binding';

/** `on`, `off`, or the number of seconds. */
const autonomy = (annotations: Record<string, string>, pools: PoolsOfNode): string | number => {
  const result = autonomyOf(node('n', {}, { annotations }), pools);
  return result.mode === 'duration' ? result.ms / 1000 : result.mode;
};

const edge = pool('edge', { type: 'Edge' });
const cloud = pool('cloud', { type: 'Cloud' });
const withField = (value: string) => pool('p', { type: 'Edge', autonomy: value });

describe('autonomyOf', () => {
  it.each<[string, Record<string, string>, PoolsOfNode, string | number]>([
    ['an edge pool', {}, { pool: edge }, 'on'],
    ['a cloud pool', {}, { pool: cloud }, 'off'],
    ['a group', {}, { group: group('g', {}) }, 'on'],
    ['a group and a cloud pool', {}, { pool: cloud, group: group('g', {}) }, 'off'],
    ['a cloud pool that sets it', {}, { pool: pool('p', { type: 'Cloud', autonomy: 'Always' }) }, 'on'],
    ['a pool without it', {}, { pool: withField('Never') }, 'off'],
    ['a pool with a limit', {}, { pool: withField('168h') }, 7 * 24 * 3600],
    ['several units', {}, { pool: withField('1h30m') }, 5400],
    ['a duration of zero in the field', {}, { pool: withField('0s') }, 'off'],
    ['a group with a limit', {}, { group: group('g', { autonomy: '90s' }) }, 90],
    [
      'the pool before the group',
      {},
      { pool: withField('1m'), group: group('g', { autonomy: 'Never' }) },
      60,
    ],
    [
      'the field of the group before the type of the pool',
      {},
      { pool: cloud, group: group('g', { autonomy: '1s' }) },
      1,
    ],
    ['the node before the pool', { [DURATION]: '10s' }, { pool: withField('Never') }, 10],
    ['a duration of zero on the node', { [DURATION]: '0' }, { pool: withField('Never') }, 'on'],
    ['a negative duration on the node', { [DURATION]: '-1s' }, { pool: cloud }, 'on'],
    ['the duration before the older annotations', { [DURATION]: '5s', [AUTONOMY]: 'false' }, {}, 5],
    ['the older annotation', { [AUTONOMY]: 'true' }, { pool: cloud }, 'on'],
    ['the older annotation turns it off', { [AUTONOMY]: 'false' }, { pool: edge }, 'off'],
    ['a node with bound pods', { [BINDING]: 'true' }, { pool: cloud }, 'on'],
    ['an annotation that says nothing', { [BINDING]: 'false' }, { pool: edge }, 'on'],
    ['values that are not valid', { [DURATION]: 'soon' }, { pool: withField('later') }, 'on'],
  ])('%s', (_, annotations, pools, expected) => {
    expect(autonomy(annotations, pools)).toBe(expected);
  });
});

describe('isAutonomous', () => {
  it('ends when the duration since the last report has passed', () => {
    const limited = { mode: 'duration', ms: 100 } as const;
    expect([1099, 1100].map((now) => isAutonomous(limited, 1000, now))).toEqual([true, false]);
    expect(isAutonomous({ mode: 'on' }, 0, Number.MAX_SAFE_INTEGER)).toBe(true);
    expect(isAutonomous({ mode: 'off' }, 1000, 1000)).toBe(false);
  });
});
