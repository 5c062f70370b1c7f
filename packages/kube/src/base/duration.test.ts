import { expect, it } from 'vitest';
import { humanDuration } from './duration.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

it.each([
  [-2 * SECOND, '<invalid>'],
  [-1 * SECOND, '0s'],
  [0, '0s'],
  [119 * SECOND, '119s'],
  [2 * MINUTE, '2m'],
  [9 * MINUTE + 59 * SECOND, '9m59s'],
  [10 * MINUTE + 59 * SECOND, '10m'],
  [179 * MINUTE, '179m'],
  [3 * HOUR, '3h'],
  [7 * HOUR + 30 * MINUTE, '7h30m'],
  [47 * HOUR, '47h'],
  [48 * HOUR, '2d'],
  [2 * DAY + 3 * HOUR, '2d3h'],
  [8 * DAY + 3 * HOUR, '8d'],
  [2 * YEAR - HOUR, '729d'],
  [2 * YEAR, '2y'],
  [2 * YEAR + 30 * DAY, '2y30d'],
  [8 * YEAR + 30 * DAY, '8y'],
])('%d ms is %s', (milliseconds, text) => {
  expect(humanDuration(milliseconds)).toBe(text);
});
