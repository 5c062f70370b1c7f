import type { CronJob, Job } from '@tidegate/kube';
import type { CronJobSpec, CronJobStatus } from 'kubernetes-types/batch/v1.d.ts';
import type { ObjectReference } from 'kubernetes-types/core/v1.d.ts';
import { parseSchedule, type Schedule, ScheduleError } from '../../../cron/schedule.ts';
import { timestamp } from '../../timestamp.ts';
import { finishedCondition } from '../job/conditions.ts';
import type { PlannedEvent } from '../planned-events.ts';
import { latestDue, moreThan, type Timetable, upcoming } from './due.ts';
import { jobName, referenceTo } from './jobs.ts';

/** The input of the plan. */
export interface Observed {
  cronJob: CronJob;
  /** The Jobs that the CronJob controls, including finished ones. */
  jobs: readonly Job[];
  now: number;
}

/** What to do now, and when to look again. */
export interface CronJobPlan {
  /** The active Jobs and the last success, before anything is started. */
  status: CronJobStatus;
  /** Finished Jobs beyond the history limits. */
  expired: Job[];
  start?: { scheduledTime: number; replaces: ObjectReference[] };
  events: PlannedEvent[];
  /** Milliseconds until the next time of the schedule. */
  requeueAfter?: number;
}

const MANY_MISSED = 100;
/** Timers may fire slightly early, but a Job must not start early. */
const PADDING_MS = 100;

/** The next step of a CronJob. */
export function planCronJob({ cronJob, jobs, now }: Observed): CronJobPlan {
  const events: PlannedEvent[] = [];
  const status = observeJobs(cronJob, jobs, events);
  const expired = beyondHistory(cronJob, jobs);
  const plan = { status, expired, events };
  const { spec, metadata } = cronJob;
  if (spec === undefined || spec.suspend === true || metadata.deletionTimestamp !== undefined) return plan;
  const schedule = readSchedule(spec.schedule, events);
  if (schedule === undefined) return plan;
  const since = Date.parse(status.lastScheduleTime ?? metadata.creationTimestamp ?? timestamp(now));
  const timetable: Timetable = { schedule, timeZone: spec.timeZone, since };
  const next = upcoming(timetable, now);
  if (next === undefined) {
    const never = 'time difference between two schedules is less than 1 second';
    const message = `invalid schedule: ${spec.schedule} : ${never}`;
    events.push({ type: 'warning', reason: 'InvalidSchedule', message });
    return plan;
  }
  const due = latestDue(timetable, now);
  const requeueAfter = next + PADDING_MS - now;
  if (due === undefined) return { ...plan, requeueAfter };
  const made = jobs.find((job) => job.metadata.name === jobName(metadata.name ?? '', due));
  if (made !== undefined) return { ...plan, status: withJob(status, made, due), requeueAfter };
  const start = planStart(spec, { due, timetable, now, active: status.active ?? [] }, events);
  return { ...plan, start, requeueAfter };
}

/** The status after a Job was created for a time of the schedule. */
export function withJob(status: CronJobStatus, job: Job, scheduledTime: number): CronJobStatus {
  const { active = [] } = status;
  const isListed = active.some(({ uid }) => uid === job.metadata.uid);
  const listed = isListed || finishedCondition(job) !== undefined ? active : [...active, referenceTo(job)];
  return {
    ...status,
    active: listed.length === 0 ? undefined : listed,
    lastScheduleTime: timestamp(scheduledTime),
  };
}

function readSchedule(text: string, events: PlannedEvent[]): Schedule | undefined {
  try {
    return parseSchedule(text);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const message = `unparseable schedule: ${JSON.stringify(text)} : ${error.message}`;
    events.push({ type: 'warning', reason: 'UnparseableSchedule', message });
    return undefined;
  }
}

/** Removes finished and deleted Jobs from the active list. */
function observeJobs({ status = {} }: CronJob, jobs: readonly Job[], events: PlannedEvent[]): CronJobStatus {
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]));
  const active = (status.active ?? []).filter(({ uid, name }) => {
    const job = byUid.get(uid);
    const condition = job === undefined ? undefined : finishedCondition(job);
    if (job === undefined) {
      events.push({ type: 'normal', reason: 'MissingJob', message: `Active job went missing: ${name}` });
    } else if (condition !== undefined) {
      const message = `Saw completed job: ${name}, condition: ${condition.type}`;
      events.push({ type: 'normal', reason: 'SawCompletedJob', message });
    }
    return job !== undefined && condition === undefined;
  });
  for (const job of unexpectedJobs(active, jobs)) {
    const message = `Saw a job that the controller did not create or forgot: ${job.metadata.name}`;
    events.push({ type: 'warning', reason: 'UnexpectedJob', message });
  }
  const successes = jobs
    .filter((job) => finishedCondition(job)?.type === 'Complete')
    .map((job) => job.status?.completionTime);
  const lastSuccessfulTime = [...successes, status.lastSuccessfulTime]
    .filter((time) => time !== undefined)
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
  return { ...status, active: active.length === 0 ? undefined : active, lastSuccessfulTime };
}

/**
 * Running Jobs that are not in the active list: created by hand, or by this controller before a failed status write.
 */
export const unexpectedJobs = (active: readonly ObjectReference[], jobs: readonly Job[]): Job[] =>
  jobs.filter(
    (job) => finishedCondition(job) === undefined && !active.some(({ uid }) => uid === job.metadata.uid),
  );

interface Situation {
  due: number;
  timetable: Timetable;
  now: number;
  active: ObjectReference[];
}

function planStart(
  { startingDeadlineSeconds, concurrencyPolicy }: CronJobSpec,
  { due, timetable, now, active }: Situation,
  events: PlannedEvent[],
): CronJobPlan['start'] {
  const { since } = timetable;
  const deadline = startingDeadlineSeconds === undefined ? since : now - startingDeadlineSeconds * 1000;
  if (moreThan(MANY_MISSED, { ...timetable, since: Math.max(since, deadline) }, now)) {
    const message =
      'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
    events.push({ type: 'warning', reason: 'TooManyMissedTimes', message });
  }
  if (due < deadline) {
    const time = new Date(due).toUTCString().replace('GMT', '+0000');
    const message = `Missed scheduled time to start a job: ${time}`;
    events.push({ type: 'warning', reason: 'MissSchedule', message });
    return undefined;
  }
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    events.push({ type: 'normal', reason: 'JobAlreadyActive', message });
    return undefined;
  }
  return { scheduledTime: due, replaces: concurrencyPolicy === 'Replace' ? active : [] };
}

/** The oldest finished Jobs beyond the history limits, separately for successes and failures. */
function beyondHistory({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const oldest = (type: string, limit: number | undefined): Job[] => {
    if (limit === undefined) return [];
    const finished = jobs
      .filter((job) => finishedCondition(job)?.type === type)
      .toSorted((a, b) => startOf(a) - startOf(b) || (a.metadata.name! < b.metadata.name! ? -1 : 1));
    return finished
      .slice(0, Math.max(0, finished.length - limit))
      .filter((job) => job.metadata.deletionTimestamp === undefined);
  };
  return [
    ...oldest('Complete', spec?.successfulJobsHistoryLimit),
    ...oldest('Failed', spec?.failedJobsHistoryLimit),
  ];
}

/** A Job that never started counts as the newest. */
const startOf = ({ status }: Job): number =>
  status?.startTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(status.startTime);
