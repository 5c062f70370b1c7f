import { JOBS, type Job, PODS } from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';
import { jobController } from './index.ts';
import { TRACKING_FINALIZER } from './pods.ts';

const job = (spec: object): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'work' },
  spec: {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
    ...spec,
  },
});

describe('jobController', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start([jobController]);
  });
  afterAll(() => cluster.stop());
  beforeEach(() => cluster.useNewNamespace());

  const pods = (count: number) =>
    cluster.eventually(`${count} pods`, async () => {
      const found = await cluster.pods();
      return found.length === count && found;
    });
  const condition = (type: string) =>
    cluster.eventually(type, async () => {
      const { status } = await cluster.get(JOBS, 'work');
      return status?.conditions?.some((c) => c.type === type && c.status === 'True') && status;
    });

  it('runs to completion', async () => {
    await cluster.create(JOBS, job({ completions: 3, parallelism: 2 }));
    const [first, second] = await pods(2);
    expect(first?.metadata.finalizers).toEqual([TRACKING_FINALIZER]);
    expect(first?.metadata.labels).toMatchObject({
      'batch.kubernetes.io/job-name': 'work',
      'job-name': 'work',
    });
    await cluster.report(first!, { phase: 'Succeeded' });
    await cluster.report(second!, { phase: 'Succeeded' });
    const all = await pods(3);
    const third = all.find((pod) => pod.status?.phase === 'Pending');
    await cluster.report(third!, { phase: 'Succeeded' });
    const status = await condition('Complete');
    expect(status).toMatchObject({ succeeded: 3, uncountedTerminatedPods: {}, ready: 0, terminating: 0 });
    expect(status.conditions?.map(({ type }) => type)).toEqual(['SuccessCriteriaMet', 'Complete']);
    expect(status.active).toBeUndefined();
    expect(await cluster.list(PODS)).toHaveLength(3);
    expect((await cluster.list(PODS)).flatMap(({ metadata }) => metadata.finalizers ?? [])).toEqual([]);
    await cluster.eventually('the event', async () => (await cluster.events('Completed')).length === 1);
  });

  it('fails after too many failures', async () => {
    await cluster.create(JOBS, job({ backoffLimit: 0, parallelism: 2, completions: 2 }));
    const [first] = await pods(2);
    await cluster.report(first!, { phase: 'Failed' });
    const status = await condition('Failed');
    expect(status.failed).toBe(2);
    expect(status.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'FailureTarget BackoffLimitExceeded',
      'Failed BackoffLimitExceeded',
    ]);
    await pods(1);
  });

  it('can be suspended and resumed without counting a failure', async () => {
    await cluster.create(JOBS, job({}));
    await pods(1);
    const target = cluster.target('work');
    await cluster.client.patch(JOBS, target, 'merge', { spec: { suspend: true } });
    await condition('Suspended');
    await pods(0);
    await cluster.client.patch(JOBS, target, 'merge', { spec: { suspend: false } });
    const [pod] = await pods(1);
    await cluster.report(pod!, { phase: 'Succeeded' });
    const status = await condition('Complete');
    expect(status.succeeded).toBe(1);
    expect(status.failed).toBeUndefined();
  });

  it('replaces a deleted pod and counts it as failed', async () => {
    await cluster.create(JOBS, job({}));
    const [pod] = await pods(1);
    const { name = '' } = pod!.metadata;
    await cluster.client.delete(PODS, cluster.target(name));
    await cluster.eventually('another pod', async () => {
      const [other] = await cluster.pods();
      return other !== undefined && other.metadata.name !== name;
    });
    await cluster.eventually('a failure', async () => (await cluster.get(JOBS, 'work')).status?.failed === 1);
  });

  it('releases its pods when it is deleted', async () => {
    await cluster.create(JOBS, job({ parallelism: 3, completions: 3 }));
    await pods(3);
    await cluster.client.delete(JOBS, cluster.target('work'), { propagationPolicy: 'Background' });
    await cluster.eventually('no pods', async () => (await cluster.list(PODS)).length === 0);
  });

  it('releases its pods when it orphans them', async () => {
    await cluster.create(JOBS, job({}));
    await pods(1);
    await cluster.client.delete(JOBS, cluster.target('work'), { propagationPolicy: 'Orphan' });
    await cluster.eventually('the pod without finalizer', async () => {
      const [pod] = await cluster.list(PODS);
      return pod?.metadata.finalizers === undefined && pod?.metadata.ownerReferences === undefined;
    });
  });

  it('assigns indexes, and is deleted after its TTL', async () => {
    const spec = { completionMode: 'Indexed', completions: 2, parallelism: 2, ttlSecondsAfterFinished: 0 };
    await cluster.create(JOBS, job(spec));
    const [zero, one] = await pods(2);
    expect(zero?.metadata.name).toMatch(/^work-0-/);
    expect(one?.spec?.hostname).toBe('work-1');
    await cluster.report(zero!, { phase: 'Succeeded' });
    await cluster.eventually('the first index', async () => {
      return (await cluster.get(JOBS, 'work')).status?.completedIndexes === '0';
    });
    await cluster.report(one!, { phase: 'Succeeded' });
    await cluster.eventually('the Job is gone', async () => {
      return (await cluster.list(JOBS)).length === 0 && (await cluster.list(PODS)).length === 0;
    });
  });
});
