/** Which times of a schedule are due. All times are in milliseconds since the epoch. */
import { nextTime } from '../../../cron/next.ts';
import type { Schedule } from '../../../cron/schedule.ts';

/** A schedule and the time from which it counts. */
export interface Timetable {
  schedule: Schedule;
  timeZone?: string;
  /** Only later times count: this is the last time that was handled, or the creation of the CronJob. */
  since: number;
}

const MINUTE_MS = 60_000;

/** The latest time that has passed, if there is one. */
export function latestDue({ schedule, timeZone, since }: Timetable, now: number): number | undefined {
  const first = nextTime(schedule, since, timeZone);
  if (first === undefined || first > now) return undefined;
  if ('everyMs' in schedule) return first + Math.floor((now - first) / schedule.everyMs) * schedule.everyMs;
  // The last few minutes are almost always enough, no matter how long ago `since` is. Double the window otherwise.
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

/** The first time in the future. */
export function upcoming({ schedule, timeZone, since }: Timetable, now: number): number | undefined {
  if (!('everyMs' in schedule)) return nextTime(schedule, Math.max(since, now), timeZone);
  const { everyMs } = schedule;
  const first = since + everyMs;
  return first > now ? first : first + (Math.floor((now - first) / everyMs) + 1) * everyMs;
}

/** Whether more than `count` times have passed. */
export function moreThan(count: number, { schedule, timeZone, since }: Timetable, now: number): boolean {
  let time: number | undefined = since;
  for (let come = 0; come <= count; come++) {
    time = nextTime(schedule, time, timeZone);
    if (time === undefined || time > now) return false;
  }
  return true;
}
