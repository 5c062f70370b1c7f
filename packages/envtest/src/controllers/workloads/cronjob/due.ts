/** Which times of a schedule are due. All times are milliseconds since the epoch. */
import { nextTime } from '../../../cron/next.ts';
import type { Schedule } from '../../../cron/schedule.ts';

/** What there is to know about a schedule besides the time. */
export interface Timetable {
  schedule: Schedule;
  timeZone?: string;
  /** Only times after this one count: the last one that was met, or when the CronJob was made. */
  since: number;
}

const MINUTE_MS = 60_000;

/** The most recent time that has come, if any came. */
export function latestDue({ schedule, timeZone, since }: Timetable, now: number): number | undefined {
  const first = nextTime(schedule, since, timeZone);
  if (first === undefined || first > now) return undefined;
  if ('everyMs' in schedule) return first + Math.floor((now - first) / schedule.everyMs) * schedule.everyMs;
  // Nearly always a look at the last minutes is enough, however long ago `since` is.
  for (let window = MINUTE_MS; ; window *= 2) {
    let latest: number | undefined;
    let time = nextTime(schedule, Math.max(since, now - window), timeZone);
    while (time !== undefined && time <= now) {
      latest = time;
      time = nextTime(schedule, time, timeZone);
    }
    if (latest !== undefined) return latest;
  }
}

/** The first time that is still to come. */
export function upcoming({ schedule, timeZone, since }: Timetable, now: number): number | undefined {
  if (!('everyMs' in schedule)) return nextTime(schedule, Math.max(since, now), timeZone);
  const { everyMs } = schedule;
  const first = since + everyMs;
  return first > now ? first : first + (Math.floor((now - first) / everyMs) + 1) * everyMs;
}

/** Whether more than `count` times have come since then. */
export function moreThan(count: number, { schedule, timeZone, since }: Timetable, now: number): boolean {
  let time: number | undefined = since;
  for (let come = 0; come <= count; come++) {
    time = nextTime(schedule, time, timeZone);
    if (time === undefined || time > now) return false;
  }
  return true;
}
