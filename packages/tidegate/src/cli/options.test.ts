import { expect, it } from 'vitest';
import { parseDuration } from './options.ts';

it.each([
  ['40s', 40_000],
  ['500ms', 500],
  ['1m30s', 90_000],
  ['1.5h', 5_400_000],
])('parses %s', (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});

it.each(['', '40', 's', '0s', '-1s', '1s!', '1 s'])('rejects the duration %j', (text) => {
  expect(() => parseDuration(text)).toThrow(/for example 40s/);
});
