import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalElement, compareElements, keyElement, valueElement } from './path-element.ts';

const scalar = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.string(),
  fc.constantFrom('a', 'a-b', 'a b', 'a"b', 'a\\'),
);

/** Numbers sort before strings, strings before booleans, and each type by value. */
function naiveOrder(a: unknown, b: unknown): number {
  const rank = ['number', 'string', 'boolean'];
  if (typeof a !== typeof b) return rank.indexOf(typeof a) - rank.indexOf(typeof b);
  return a === b ? 0 : (a as number) < (b as number) ? -1 : 1;
}

it('sorts values by value, not by text', () => {
  fc.assert(
    fc.property(scalar, scalar, (a, b) => {
      expect(Math.sign(compareElements(valueElement(a), valueElement(b)))).toBe(Math.sign(naiveOrder(a, b)));
    }),
  );
});

it('sorts keys by the first value, then by the second', () => {
  const keys = fc.record({ name: scalar, port: scalar });
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      const element = (k: typeof a): string =>
        keyElement(['name', 'port'], (name) => k[name as 'name' | 'port']);
      const expected = naiveOrder(a.name, b.name) || naiveOrder(a.port, b.port);
      expect(Math.sign(compareElements(element(a), element(b)))).toBe(Math.sign(expected));
      expect(canonicalElement(element(a))).toBe(element(a));
    }),
  );
});

it('sorts an item without a key before items with it', () => {
  expect(compareElements('k:{"a":1}', 'k:{"a":1,"b":2}')).toBeLessThan(0);
});
