import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalQuantity, parseQuantity } from './quantity.ts';

const canonical = (text: string): string => canonicalQuantity(parseQuantity(text));

describe('quantities', () => {
  it.each([
    ['1', '1'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['2000', '2k'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['0.1Ki', '102400m'],
    ['1e3', '1e3'],
    ['12E6', '12e6'],
    ['1E', '1E'],
    ['-5', '-5'],
    ['+.5', '500m'],
    ['0', '0'],
    ['0Mi', '0'],
    ['1.0000000001', '1000000001n'],
    ['100u', '100u'],
  ])('writes %s as %s', (given, expected) => {
    expect(canonical(given)).toBe(expected);
  });

  it.each([
    ['abc', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['1mm', "unable to parse quantity's suffix"],
    ['1.2.3', 'unable to parse numeric part of quantity'],
  ])('refuses %j', (given, message) => {
    expect(() => parseQuantity(given)).toThrow(message);
  });

  it('keeps its value through the canonical form', () => {
    const quantity = fc
      .tuple(fc.integer({ min: 0, max: 1e9 }), fc.constantFrom('', 'm', 'k', 'Ki', 'Gi', 'e3', 'n'))
      .map(([n, suffix]) => `${n}${suffix}`);
    fc.assert(
      fc.property(quantity, (text) => {
        const once = canonical(text);
        expect(canonical(once)).toBe(once);
        expect(parseQuantity(once).nano).toBe(parseQuantity(text).nano);
      }),
    );
  });
});
