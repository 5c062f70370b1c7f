import { expect, test } from 'vitest';
import { parseAddressRanges, plainAddress } from './node-addresses.ts';

test.each([
  ['192.0.2.7', true],
  ['192.0.3.7', false],
  ['198.51.100.7', true],
  ['198.51.100.8', false],
  ['2001:db8::1', true],
  ['2001:DB8:0:0::1', true],
  ['2001:db9::1', false],
  ['::ffff:192.0.2.7', true],
  ['node-a', false],
])('the ranges of a pool contain %s: %s', (address, expected) => {
  expect(parseAddressRanges('192.0.2.0/24, 198.51.100.7,2001:db8::/32').has(address)).toBe(expected);
});

test('entries that cannot be read are ignored and reported', () => {
  const ranges = parseAddressRanges('192.0.2.0/33, node-a, 192.0.2.1/x, ::/129, 192.0.2.9');
  expect(ranges.invalid).toEqual(['192.0.2.0/33', 'node-a', '192.0.2.1/x', '::/129']);
  expect(ranges.has('192.0.2.9')).toBe(true);
  expect(ranges.has('192.0.2.1')).toBe(false);
});

test('no configuration contains no address', () => {
  expect(parseAddressRanges('')).toMatchObject({ invalid: [] });
  expect(parseAddressRanges('').has('192.0.2.1')).toBe(false);
});

test('an address has one spelling', () => {
  expect(plainAddress('::FFFF:c000:207')).toBe('192.0.2.7');
  expect(plainAddress('2001:DB8::0:1')).toBe('2001:db8::1');
  expect(plainAddress('bank.example')).toBeUndefined();
});
