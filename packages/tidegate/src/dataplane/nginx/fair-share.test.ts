import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shareOf } from './fair-share.ts';

const entries = (sizes: Record<string, number[]>): Map<string, { namespace: string; bytes: number }> =>
  new Map(
    Object.entries(sizes).flatMap(([namespace, all]) =>
      all.map((bytes, at) => [`${namespace}${at}`, { namespace, bytes }] as const),
    ),
  );

it('takes entries from the namespace that uses the most', () => {
  const all = entries({ evil: [50, 40, 30, 20], good: [30], other: [10, 10] });
  expect(shareOf(all, 100, 100)).toEqual(new Set(['evil0', 'evil1']));
});

it('takes nothing if everything fits', () => {
  expect(shareOf(entries({ a: [50], b: [50] }), 100, 100)).toEqual(new Set());
});

it('leaves out entries that are too large', () => {
  expect(shareOf(entries({ a: [50, 10], b: [5] }), 100, 40)).toEqual(new Set(['a0']));
});

it('always fits, and never takes from a namespace that needs less than an equal share', () => {
  const sizes = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 10 }),
  );
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 500 }), (given, limit) => {
      const all = entries(given);
      const without = shareOf(all, limit, 50);
      const kept = [...all].filter(([key]) => !without.has(key));
      expect(kept.reduce((sum, [, { bytes }]) => sum + bytes, 0)).toBeLessThanOrEqual(limit);
      const losers = new Set([...without].map((key) => all.get(key)!.namespace));
      const use = (namespace: string): number => given[namespace]!.reduce((sum, each) => sum + each, 0);
      for (const each of losers) expect(use(each)).toBeGreaterThan(limit / Object.keys(given).length);
    }),
  );
});
