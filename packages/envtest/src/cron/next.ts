import type { Schedule } from './schedule.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A schedule that names no day within this long, such as February 30, never comes. */
const HORIZON_MS = 5 * 366 * DAY_MS;

/**
 * The first time after `after` that the schedule names, both in milliseconds since the epoch; undefined when there is
 * none. The fields are read on the clocks of `timeZone`, by default those of this machine: an hour that is skipped
 * in spring is skipped, and one that comes twice in autumn counts twice.
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

/** When both kinds of day are restricted, either will do: cron's oldest surprise. */
function namesDay({ dayOfMonth, dayOfWeek }: NamedDays, wall: Date): boolean {
  const date = dayOfMonth.values.has(wall.getUTCDate());
  const weekday = dayOfWeek.values.has(wall.getUTCDay());
  return dayOfMonth.any || dayOfWeek.any ? date && weekday : date || weekday;
}

/** The first minute of the next day, or one late on this day when it is longer than others: the caller looks again. */
function nextDay(time: number, wallClock: (time: number) => Date): number {
  const wall = wallClock(time);
  const later = time + DAY_MS - sinceMidnight(wall);
  const day = wallClock(later);
  const midnight = later - sinceMidnight(day);
  const overshot = day.getUTCDate() !== wall.getUTCDate() && sinceMidnight(day) > 0;
  return overshot && wallClock(midnight).getUTCDate() === day.getUTCDate() ? midnight : later;
}

const sinceMidnight = (wall: Date): number => wall.getUTCHours() * HOUR_MS + wall.getUTCMinutes() * MINUTE_MS;

/** Reads a zone's clocks: a Date whose UTC fields show what they show. */
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
