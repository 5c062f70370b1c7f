import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalQuantity, parseQuantity } from './quantity.ts';

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
    ['1.1Ki', '1126400m'],
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
    expect(canonicalQuantity(given)).toBe(expected);
  });

  it.each(['abc', '', '1mm', '1.2.3', '.', '1 Gi'])('refuses %j', (given) => {
    expect(parseQuantity(given)).toBeUndefined();
  });

  it('keeps its value through the canonical form', () => {
    const quantity = fc
      .tuple(fc.integer({ min: 0, max: 1e9 }), fc.constantFrom('', 'm', 'k', 'Ki', 'Gi', 'e3', 'n'))
      .map(([n, suffix]) => `${n}${suffix}`);
    fc.assert(
      fc.property(quantity, (text) => {
        const once = canonicalQuantity(text);
        expect(canonicalQuantity(once)).toBe(once);
        expect(parseQuantity(once)?.nanos).toBe(parseQuantity(text)?.nanos);
      }),
    );
  });
});
