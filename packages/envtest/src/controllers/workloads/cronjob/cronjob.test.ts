import { type Clock, CRON_JOBS, type CronJob, JOBS, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { timestamp } from '../../timestamp.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { cronJobController } from './index.ts';

const cronJob = (spec: object): CronJob => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'tick' },
  spec: {
    schedule: '* * * * *',
    jobTemplate: {
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
    },
    ...spec,
  },
});

/** A clock that is an hour ahead of the server, so that a time of the schedule has passed for a new CronJob. */
const later: Clock = { ...systemClock, now: () => Date.now() + 3_700_000 };

describe('cronJobController', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await TestCluster.start([cronJobController], later);
  });
  afterEach(() => cluster.stop());

  it('creates the Job that is due once, and follows it to its end', async () => {
    await cluster.create(CRON_JOBS, cronJob({ schedule: '0 * * * *' }));
    const active = await cluster.eventually('the status', async () => {
      const { status } = await cluster.get(CRON_JOBS, 'tick');
      return status?.active !== undefined && status;
    });
    const [job, ...others] = await cluster.list(JOBS);
    expect(others).toEqual([]);
    expect(active.active?.[0]).toMatchObject({
      kind: 'Job',
      name: job?.metadata.name,
      uid: job?.metadata.uid,
    });
    expect(job?.metadata.name).toBe(`tick-${Date.parse(active.lastScheduleTime!) / 60_000}`);

    const end = timestamp(Date.now() - 1000);
    const done = [{ type: 'Complete', status: 'True' }];
    const status = { startTime: end, completionTime: end, succeeded: 1, conditions: done };
    const target = { namespace: 'default', name: job!.metadata.name!, subresource: 'status' };
    await cluster.client.patch(JOBS, target, 'merge', { status });
    const ended = await cluster.eventually('the finished Job in the status', async () => {
      const { status } = await cluster.get(CRON_JOBS, 'tick');
      return status?.active === undefined && status;
    });
    expect(ended.lastSuccessfulTime).toBe(end);
    expect(await cluster.list(JOBS)).toHaveLength(1);
  });

  it('finds its own Job again when the status was lost', async () => {
    await cluster.create(CRON_JOBS, cronJob({ schedule: '0 * * * *' }));
    const started = async () => (await cluster.get(CRON_JOBS, 'tick')).status?.active?.length === 1;
    await cluster.eventually('a start', started);
    const target = { namespace: 'default', name: 'tick', subresource: 'status' };
    await cluster.client.patch(CRON_JOBS, target, 'merge', {
      status: { active: null, lastScheduleTime: null },
    });
    await cluster.eventually('the same job again', started);
    expect(await cluster.list(JOBS)).toHaveLength(1);
  });

  it('removes Jobs beyond the history limits', async () => {
    await cluster.create(CRON_JOBS, cronJob({ schedule: '0 * * * *', failedJobsHistoryLimit: 0 }));
    const [job] = await cluster.eventually('a job', async () => {
      const jobs = await cluster.list(JOBS);
      return jobs.length > 0 && jobs;
    });
    const failed = [{ type: 'Failed', status: 'True' }];
    const status = { startTime: timestamp(Date.now()), conditions: failed };
    const target = { namespace: 'default', name: job!.metadata.name!, subresource: 'status' };
    await cluster.client.patch(JOBS, target, 'merge', { status });
    await cluster.eventually('the Job is gone', async () => (await cluster.list(JOBS)).length === 0);
    await cluster.eventually('an event', async () => (await cluster.events('SuccessfulDelete')).length > 0);
  });
});
