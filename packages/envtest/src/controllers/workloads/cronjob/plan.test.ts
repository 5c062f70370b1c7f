import type { CronJob, Job } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timestamp } from '../../timestamp.ts';
import { jobFromTemplate } from './jobs.ts';
import { planCronJob } from './plan.ts';

const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);

const cronJob = (
  spec: Partial<NonNullable<CronJob['spec']>> = {},
  status: CronJob['status'] = {},
): CronJob => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'report', namespace: 'default', uid: 'c', creationTimestamp: '2026-01-01T00:00:30Z' },
  spec: {
    schedule: '*/10 * * * *',
    timeZone: 'UTC',
    concurrencyPolicy: 'Allow',
    jobTemplate: {},
    ...spec,
  },
  status,
});

const job = (name: string, condition?: string, startTime?: string): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  status: {
    startTime,
    completionTime: condition === 'Complete' ? startTime : undefined,
    conditions: condition === undefined ? undefined : [{ type: condition, status: 'True' }],
  },
});
const referenceTo = (name: string) => ({ kind: 'Job', namespace: 'default', name, uid: `uid-${name}` });
const reasons = (events: { reason: string }[]): string[] => events.map(({ reason }) => reason);

describe('planCronJob', () => {
  it('waits for the first time after its creation', () => {
    const plan = planCronJob({ cronJob: cronJob(), jobs: [], now: at('00:04:00') });
    expect(plan.start).toBeUndefined();
    expect(plan.requeueAfter).toBe(6 * 60_000 + 100);
  });

  it('starts the Job that is due, and only the latest of those missed', () => {
    const plan = planCronJob({ cronJob: cronJob(), jobs: [], now: at('00:35:01') });
    expect(plan.start).toEqual({ scheduledTime: at('00:30:00'), replaces: [] });
    expect(plan.events).toEqual([]);
  });

  it('warns when very many times were missed', () => {
    const plan = planCronJob({ cronJob: cronJob(), jobs: [], now: at('23:59:00') });
    expect(reasons(plan.events)).toEqual(['TooManyMissedTimes']);
    expect(plan.start?.scheduledTime).toBe(at('23:50:00'));
  });

  it('does not start a Job after its deadline', () => {
    const late = { cronJob: cronJob({ startingDeadlineSeconds: 60 }), jobs: [], now: at('00:11:01') };
    const plan = planCronJob(late);
    expect(plan.start).toBeUndefined();
    expect(plan.events).toEqual([
      {
        type: 'warning',
        reason: 'MissSchedule',
        message: 'Missed scheduled time to start a job: Thu, 01 Jan 2026 00:10:00 +0000',
      },
    ]);
    expect(planCronJob({ ...late, now: at('00:10:59') }).start).toBeDefined();
  });

  it('keeps the rhythm of an interval, regardless of the deadline', () => {
    const every = cronJob({ schedule: '@every 1h', startingDeadlineSeconds: 10 });
    expect(planCronJob({ cronJob: every, jobs: [], now: at('01:00:31') }).start?.scheduledTime).toBe(
      at('01:00:30'),
    );
    expect(planCronJob({ cronJob: every, jobs: [], now: at('01:00:31') }).requeueAfter).toBe(3_599_100);
  });

  it('while suspended, only keeps its status correct', () => {
    const running = cronJob({ suspend: true }, { active: [referenceTo('a')] });
    const plan = planCronJob({ cronJob: running, jobs: [job('a', 'Failed')], now: at('05:00:00') });
    expect(plan.start).toBeUndefined();
    expect(plan.requeueAfter).toBeUndefined();
    expect(plan.status.active).toBeUndefined();
    expect(plan.events[0]?.message).toBe('Saw completed job: a, condition: Failed');
  });

  it.each([
    ['Allow', { scheduledTime: at('00:10:00'), replaces: [] }],
    ['Forbid', undefined],
    ['Replace', { scheduledTime: at('00:10:00'), replaces: [referenceTo('a')] }],
  ])('applies the concurrency policy %s while a Job is running', (concurrencyPolicy, start) => {
    const busy = cronJob({ concurrencyPolicy }, { active: [referenceTo('a')] });
    expect(planCronJob({ cronJob: busy, jobs: [job('a')], now: at('00:10:05') }).start).toEqual(start);
  });

  it('forgets a Job that is gone', () => {
    const plan = planCronJob({
      cronJob: cronJob({ concurrencyPolicy: 'Forbid' }, { active: [referenceTo('a')] }),
      jobs: [],
      now: at('00:10:05'),
    });
    expect(reasons(plan.events)).toEqual(['MissingJob']);
    expect(plan.start).toBeDefined();
  });

  it('recognizes the due Job by its name, even if the status does not list it', () => {
    const plan = planCronJob({ cronJob: cronJob(), jobs: [job('report-29453770')], now: at('00:10:05') });
    expect(plan.start).toBeUndefined();
    expect(plan.status).toMatchObject({
      lastScheduleTime: '2026-01-01T00:10:00Z',
      active: [{ name: 'report-29453770' }],
    });
  });

  it('keeps the newest finished Jobs and the time of the last success', () => {
    const jobs = [
      job('a', 'Complete', '2026-01-01T00:10:00Z'),
      job('b', 'Complete', '2026-01-01T00:20:00Z'),
      job('c', 'Failed', '2026-01-01T00:05:00Z'),
      job('d', 'Failed', '2026-01-01T00:06:00Z'),
      job('e'),
    ];
    const limits = { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 };
    const plan = planCronJob({ cronJob: cronJob(limits), jobs, now: at('00:09:00') });
    expect(plan.expired.map(({ metadata }) => metadata.name)).toEqual(['a', 'c', 'd']);
    expect(plan.status.lastSuccessfulTime).toBe('2026-01-01T00:20:00Z');
    expect(reasons(plan.events)).toEqual(['UnexpectedJob']);
  });

  it('reports a schedule that never matches', () => {
    const plan = planCronJob({ cronJob: cronJob({ schedule: '0 0 30 2 *' }), jobs: [], now: at('09:00:00') });
    expect(plan.events[0]?.message).toBe(
      'invalid schedule: 0 0 30 2 * : time difference between two schedules is less than 1 second',
    );
  });

  it('handles every time once, no matter how often and irregularly it is reconciled', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 40 });
    const schedules = fc.constantFrom('*/10 * * * *', '7 * * * *', '@every 7m', '* * * * *');
    fc.assert(
      fc.property(steps, schedules, (seconds, schedule) => {
        let now = at('00:00:30');
        let status: CronJob['status'] = {};
        const started: number[] = [];
        for (const step of seconds) {
          now += step * 1000;
          const { start } = planCronJob({ cronJob: cronJob({ schedule }, status), jobs: [], now });
          if (start === undefined) continue;
          expect(start.scheduledTime).toBeLessThanOrEqual(now);
          expect(start.scheduledTime).toBeGreaterThan(started.at(-1) ?? 0);
          started.push(start.scheduledTime);
          status = { lastScheduleTime: timestamp(start.scheduledTime) };
        }
      }),
    );
  });
});

describe('jobFromTemplate', () => {
  it('names the Job after the minute, and records the time in the time zone', () => {
    const template = { metadata: { labels: { a: 'b' } } };
    const made = jobFromTemplate(
      cronJob({ timeZone: 'Asia/Kolkata', jobTemplate: template }),
      at('00:10:00'),
    );
    expect(made.metadata).toMatchObject({
      name: 'report-29453770',
      labels: { a: 'b' },
      annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T05:40:00+05:30' },
      ownerReferences: [{ kind: 'CronJob', name: 'report', uid: 'c', controller: true }],
    });
  });
});
