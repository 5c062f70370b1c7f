import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockOf, nextTime } from './next.ts';
import { parseSchedule, scheduleProblem } from './schedule.ts';

const next = (schedule: string, after: string, timeZone = 'UTC'): string | undefined => {
  const time = nextTime(parseSchedule(schedule), Date.parse(after), timeZone);
  return time === undefined ? undefined : new Date(time).toISOString().replace(':00.000Z', 'Z');
};

describe('nextTime', () => {
  it.each([
    ['* * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:01Z'],
    ['* * * * *', '2026-01-01T00:00:59.999Z', '2026-01-01T00:01Z'],
    ['*/15 * * * *', '2026-01-01T00:44:10Z', '2026-01-01T00:45Z'],
    ['5/20 * * * *', '2026-01-01T00:26:00Z', '2026-01-01T00:45Z'],
    ['30 6-16/4 * * 1-5', '2026-01-02T14:31:00Z', '2026-01-05T06:30Z'],
    ['0 0 29 2 *', '2026-03-01T00:00:00Z', '2028-02-29T00:00Z'],
    ['0 12 1 jan *', '2026-01-01T12:00:00Z', '2027-01-01T12:00Z'],
    ['0 0 13 * fri', '2026-01-01T00:00:00Z', '2026-01-02T00:00Z'],
    ['0 0 */2 * fri', '2026-01-02T00:00:00Z', '2026-01-03T00:00Z'],
    ['0 0 13 * *', '2026-01-01T00:00:00Z', '2026-01-13T00:00Z'],
    ['@hourly', '2026-01-01T00:00:00Z', '2026-01-01T01:00Z'],
    ['@weekly', '2026-01-01T00:00:00Z', '2026-01-04T00:00Z'],
    ['@every 90s', '2026-01-01T00:00:30.400Z', '2026-01-01T00:02Z'],
    ['@every 1h30m', '2026-01-01T00:00:00Z', '2026-01-01T01:30Z'],
  ])('%s after %s is %s', (schedule, after, expected) => {
    expect(next(schedule, after)).toBe(expected);
  });

  it('returns undefined for a date that does not exist', () => {
    expect(next('59 23 31 2 *', '2026-01-01T00:00:00Z')).toBeUndefined();
  });

  it('uses the local time of the zone', () => {
    expect(next('0 9 * * *', '2026-07-01T00:00:00Z', 'Europe/Berlin')).toBe('2026-07-01T07:00Z');
    expect(next('0 9 * * *', '2026-01-01T00:00:00Z', 'Asia/Kolkata')).toBe('2026-01-01T03:30Z');
  });

  it('skips the missing hour in spring and repeats the doubled hour in autumn', () => {
    expect(next('30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin')).toBe('2026-03-30T00:30Z');
    expect(next('30 2 * * *', '2026-10-24T12:00:00Z', 'Europe/Berlin')).toBe('2026-10-25T00:30Z');
    expect(next('30 2 * * *', '2026-10-25T00:30:00Z', 'Europe/Berlin')).toBe('2026-10-25T01:30Z');
    expect(next('10 0 30 3 *', '2026-03-01T00:00:00Z', 'Europe/Berlin')).toBe('2026-03-29T22:10Z');
  });

  it('supports zones in which a midnight does not exist', () => {
    // In Chile, clocks moved from 24:00 to 01:00 on 2025-09-07.
    expect(next('0 1 7 9 *', '2025-09-05T00:00:00Z', 'America/Santiago')).toBe('2025-09-07T04:00Z');
  });

  it('returns the first matching minute', () => {
    const field = (min: number, max: number): fc.Arbitrary<string> =>
      fc.oneof(
        fc.constant('*'),
        fc.integer({ min, max }).map(String),
        fc.integer({ min: 2, max: 9 }).map((n) => `*/${n}`),
      );
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe');
    const start = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 1) });
    fc.assert(
      fc.property(field(0, 59), field(0, 23), zone, start, (minute, hour, timeZone, after) => {
        const schedule = parseSchedule(`${minute} ${hour} * * *`);
        const names = (time: number): boolean => {
          const wall = clockOf(timeZone)(time);
          if ('everyMs' in schedule) return false;
          return (
            schedule.minute.values.has(wall.getUTCMinutes()) && schedule.hour.values.has(wall.getUTCHours())
          );
        };
        let expected = Math.floor(after / 60_000) * 60_000 + 60_000;
        const end = expected + 6 * 3_600_000;
        while (expected < end && !names(expected)) expected += 60_000;
        const found = nextTime(schedule, after, timeZone);
        if (expected < end) expect(found).toBe(expected);
        else expect(found).toBeGreaterThanOrEqual(end);
      }),
      { numRuns: 30 },
    );
  });
});

describe('scheduleProblem', () => {
  it.each([
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['* * * * * *', 'expected exactly 5 fields, found 6: [* * * * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['@every x', 'failed to parse duration @every x: time: invalid duration "x"'],
    ['@never', 'unrecognized descriptor: @never'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ])('%s: %s', (schedule, problem) => {
    expect(scheduleProblem(schedule)).toBe(problem);
  });
});
