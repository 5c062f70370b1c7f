import type { Schedule } from './schedule.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A schedule without a match within this time, such as February 30, never matches. */
const HORIZON_MS = 5 * 366 * DAY_MS;

/**
 * The first time after `after` that matches the schedule, both in milliseconds since the epoch; undefined if there is
 * none. The fields refer to the local time of `timeZone` (default: the zone of this machine). An hour that is skipped
 * in spring does not match, and an hour that is repeated in autumn matches twice.
 */
export function nextTime(schedule: Schedule, after: number, timeZone?: string): number | undefined {
  if ('everyMs' in schedule) return Math.floor(after / 1000) * 1000 + schedule.everyMs;
  const wallClock = clockOf(timeZone);
  const { minute, hour, month } = schedule;
  let time = Math.floor(after / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  while (time <= after + HORIZON_MS) {
    const wall = wallClock(time);
    if (!month.values.has(wall.getUTCMonth() + 1) || !namesDay(schedule, wall)) {
      time = nextDay(time, wallClock);
    } else if (!hour.values.has(wall.getUTCHours())) {
      time += HOUR_MS - wall.getUTCMinutes() * MINUTE_MS;
    } else if (!minute.values.has(wall.getUTCMinutes())) {
      time += MINUTE_MS;
    } else return time;
  }
  return undefined;
}

type NamedDays = Pick<Exclude<Schedule, { everyMs: number }>, 'dayOfMonth' | 'dayOfWeek'>;

/** If both day of month and day of week are restricted, one match is enough, as in every cron. */
function namesDay({ dayOfMonth, dayOfWeek }: NamedDays, wall: Date): boolean {
  const date = dayOfMonth.values.has(wall.getUTCDate());
  const weekday = dayOfWeek.values.has(wall.getUTCDay());
  return dayOfMonth.any || dayOfWeek.any ? date && weekday : date || weekday;
}

/** The start of the next day, or a time late on the same day if it is longer than 24 hours; the caller checks again. */
function nextDay(time: number, wallClock: (time: number) => Date): number {
  const wall = wallClock(time);
  const later = time + DAY_MS - sinceMidnight(wall);
  const day = wallClock(later);
  const midnight = later - sinceMidnight(day);
  const overshot = day.getUTCDate() !== wall.getUTCDate() && sinceMidnight(day) > 0;
  return overshot && wallClock(midnight).getUTCDate() === day.getUTCDate() ? midnight : later;
}

const sinceMidnight = (wall: Date): number => wall.getUTCHours() * HOUR_MS + wall.getUTCMinutes() * MINUTE_MS;

/** Reads the local time of a zone: the UTC fields of the result have the local values. */
export function clockOf(timeZone: string | undefined): (time: number) => Date {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (time) => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(time)) parts[type] = Number(value);
    const { year = 0, month = 1, day, hour, minute, second } = parts;
    return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  };
}
