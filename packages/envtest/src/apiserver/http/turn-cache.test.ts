import { expect, it } from 'vitest';
import { TurnCache } from './turn-cache.ts';

it('keeps values for one turn of the event loop', async () => {
  const cache = new TurnCache<string, number>();
  cache.set('a', 1);
  await Promise.resolve();
  cache.set('b', 2);
  expect([cache.get('a'), cache.get('b')]).toEqual([1, 2]);
  await new Promise(setImmediate);
  expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined]);
  cache.set('a', 3);
  expect(cache.get('a')).toBe(3);
  await new Promise(setImmediate);
  expect(cache.get('a')).toBeUndefined();
});
