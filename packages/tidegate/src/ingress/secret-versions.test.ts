import { describe, expect, it } from 'vitest';
import { MOST_SECRET_GROUPS } from '../api/index.ts';
import { changedGroups, groupOf, secretVersions } from './secret-versions.ts';

const keys = Array.from({ length: 10_000 }, (_, index) => `shop/cert-${index}`);
const all = (version = '1') => new Map<string, string | undefined>(keys.map((key) => [key, version]));

describe('versions of Secrets', () => {
  it('stay small with thousands of Secrets, and do not contain their names', () => {
    const versions = secretVersions(all());
    expect(Object.keys(versions)).toHaveLength(MOST_SECRET_GROUPS);
    expect(JSON.stringify(versions).length).toBeLessThan(5_000);
    expect(JSON.stringify(versions)).not.toContain('cert');
  });

  it('differ in one group after a change of one Secret, its creation or its deletion', () => {
    const before = secretVersions(all());
    for (const version of ['2', undefined]) {
      const after = secretVersions(all().set('shop/cert-7', version));
      expect(changedGroups(before, after)).toEqual([groupOf('shop/cert-7')]);
    }
    const without = all();
    without.delete('shop/cert-7');
    expect(changedGroups(before, secretVersions(without))).toEqual([groupOf('shop/cert-7')]);
  });

  it('do not depend on the order of the Secrets', () => {
    expect(secretVersions(new Map([...all()].reverse()))).toEqual(secretVersions(all()));
  });

  it('leave out groups without Secrets, whose disappearance is a change', () => {
    const one = secretVersions(new Map([['shop/a', '1']]));
    expect(Object.keys(one)).toEqual([groupOf('shop/a')]);
    expect(changedGroups(one, {})).toEqual([groupOf('shop/a')]);
    expect(changedGroups(one, one)).toEqual([]);
  });
});
