import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  roundUpToMilli,
} from './quantity.ts';

describe('the canonical form', () => {
  it.each([
    ['0', '0'],
    ['1', '1'],
    ['1000', '1k'],
    ['100000', '100k'],
    ['0.5', '500m'],
    ['1500m', '1500m'],
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['100Ki', '100Ki'],
    ['0.1Ki', '102400m'],
    ['1e3', '1e3'],
    ['12e-1', '1200e-3'],
    ['-1.5', '-1500m'],
    ['.5', '500m'],
    ['5.', '5'],
    ['0.0000000001', '1n'],
    ['+3', '3'],
    ['1E', '1E'],
    ['99999999999999999999', '9223372036854775807'],
  ])('of %s is %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  it.each(['', '.', 'x', '1 ', '1KI', '1ki', '--1', '1e', '1mi'])('does not exist for %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
    expect(canonicalQuantity(text)).toBe(text);
  });

  it('has the same value as the original', () => {
    const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi', 'e2', 'e-3');
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), suffix, (number, unit) => {
        const quantity = parseQuantity(`${number}${unit}`);
        if (quantity === undefined) throw new Error('no quantity');
        const again = parseQuantity(formatQuantity(quantity));
        if (again === undefined) throw new Error('no quantity any more');
        expect(compareQuantities(quantity, again)).toBe(0);
        expect(formatQuantity(again)).toBe(formatQuantity(quantity));
      }),
    );
  });
});

it('rounds up to thousandths', () => {
  const rounded = parseQuantity('1u');
  if (rounded === undefined) throw new Error('no quantity');
  expect(formatQuantity(roundUpToMilli(rounded))).toBe('1m');
});
