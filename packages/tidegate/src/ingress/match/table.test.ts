import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Delta } from '../model.ts';
import { ShardedMap } from './sharded-map.ts';
import { applyDelta, DeltaGapError, EMPTY_TABLE } from './table.ts';

const nothing = { set: [], remove: [] };
const delta = (from: number, to: number, set: string[], remove: string[] = []): Delta => ({
  from,
  to,
  hosts: { set: set.map((host) => ({ host, namespace: '', routes: [] })), remove },
  upstreams: nothing,
  certificates: nothing,
});

test('applyDelta returns a new table and does not change the old one', () => {
  const one = applyDelta(EMPTY_TABLE, delta(0, 1, ['a', 'b']));
  const two = applyDelta(one, delta(1, 2, ['c'], ['a']));
  expect([...two.hosts.entries()].map(([key]) => key).sort()).toEqual(['b', 'c']);
  expect([...one.hosts.entries()].map(([key]) => key).sort()).toEqual(['a', 'b']);
  expect(two.upstreams).toBe(one.upstreams);
  expect(two.generation).toBe(2);
});

test('a delta from 0 replaces the whole table', () => {
  const one = applyDelta(EMPTY_TABLE, delta(0, 7, ['a']));
  expect([...applyDelta(one, delta(0, 3, ['b'])).hosts.entries()].map(([key]) => key)).toEqual(['b']);
});

test('applyDelta rejects a delta that does not start at the generation of the table', () => {
  const one = applyDelta(EMPTY_TABLE, delta(0, 1, []));
  expect(() => applyDelta(one, delta(2, 3, []))).toThrow(DeltaGapError);
});

test('ShardedMap behaves like Map', () => {
  const key = fc.integer({ min: 0, max: 30 }).map(String);
  const changes = fc.array(fc.tuple(fc.array(fc.tuple(key, fc.nat())), fc.array(key)));
  fc.assert(
    fc.property(changes, (steps) => {
      let sharded = ShardedMap.empty<number>();
      const plain = new Map<string, number>();
      for (const [set, remove] of steps) {
        sharded = sharded.with(set, remove);
        for (const each of remove) plain.delete(each);
        for (const [each, value] of set) plain.set(each, value);
        expect(new Map(sharded.entries())).toEqual(plain);
        expect(sharded.size).toBe(plain.size);
        for (const each of remove) expect(sharded.has(each)).toBe(plain.has(each));
      }
    }),
  );
});
