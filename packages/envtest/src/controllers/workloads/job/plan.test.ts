import type { Job, Pod } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isActive } from '../../pods/index.ts';
import { timestamp } from '../../timestamp.ts';
import { finishedCondition } from './conditions.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';
import { concludeJob, planJob, trackedUids } from './plan.ts';
import { completionIndex, newPod, TRACKING_FINALIZER } from './pods.ts';
import { expiresInMs } from './ttl.ts';

const NOW = Date.UTC(2026, 0, 1);

const job = (spec: Partial<NonNullable<Job['spec']>> = {}, status: Job['status'] = {}): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'work', namespace: 'default', uid: 'j' },
  spec: {
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
    ...spec,
  },
  status,
});

let serial = 0;
const pod = (phase: string, { index, ended = NOW - 1000 }: { index?: number; ended?: number } = {}): Pod => {
  const made = newPod(job(), index);
  const isOver = phase === 'Succeeded' || phase === 'Failed';
  const state = isOver ? { terminated: { exitCode: 0, finishedAt: timestamp(ended) } } : {};
  const status = { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state };
  return {
    ...made,
    metadata: { ...made.metadata, uid: `p${serial++}`, creationTimestamp: timestamp(NOW - 60_000) },
    status: { phase, containerStatuses: [status] },
  };
};

const plan = (job: Job, pods: Pod[], now = NOW) => planJob({ job, pods, settled: true, now });

describe('planJob', () => {
  it('starts as many pods as parallelism allows', () => {
    const { creates, status } = plan(job({ completions: 5, parallelism: 3 }), []);
    expect(creates).toHaveLength(3);
    expect(status).toMatchObject({ active: 3, ready: 0, terminating: 0, startTime: timestamp(NOW) });
  });

  it('visits only as many indexes as it needs', () => {
    const completions = 2 ** 31 - 1;
    const huge = job({ completionMode: 'Indexed', completions, parallelism: 2 });
    expect(plan(huge, [pod('Running', { index: 0 })]).creates).toHaveLength(1);
    const claimed = job(huge.spec, { completedIndexes: `0-${completions - 1}`, succeeded: 1 });
    expect(plan(claimed, []).creates).toHaveLength(2);
  });

  it('starts no more pods than are still needed', () => {
    const pods = [pod('Succeeded'), pod('Running')];
    expect(plan(job({ completions: 3, parallelism: 3 }), pods).creates).toHaveLength(1);
    expect(plan(job({ completions: 2, parallelism: 3 }), pods).creates).toHaveLength(0);
  });

  it('does not change pods while the cache is behind', () => {
    const observed = { job: job(), pods: [], settled: false, now: NOW };
    expect(planJob(observed).creates).toEqual([]);
  });

  it('ends in two steps: the outcome is recorded before the finalizers are removed, the end after that', () => {
    const done = pod('Succeeded');
    const first = plan(job(), [done]);
    expect(first.status).toMatchObject({ uncountedTerminatedPods: { succeeded: [done.metadata.uid] } });
    expect(first.status.conditions?.map(({ type }) => type)).toEqual(['SuccessCriteriaMet']);
    expect(first.release).toEqual([done]);
    const { status, events } = concludeJob(job(), first, new Set(), NOW);
    expect(status).toMatchObject({
      succeeded: 1,
      uncountedTerminatedPods: {},
      completionTime: timestamp(NOW),
    });
    expect(status.conditions?.map(({ type }) => type)).toEqual(['SuccessCriteriaMet', 'Complete']);
    expect(events).toEqual([{ type: 'normal', reason: 'Completed', message: 'Job completed' }]);
    const held = concludeJob(job(), first, trackedUids([done]), NOW);
    expect(held.status.conditions?.map(({ type }) => type)).toEqual(['SuccessCriteriaMet']);
  });

  it('waits longer after every failure', () => {
    const limits = { backoffLimit: 6 };
    expect(plan(job(limits), [pod('Failed')])).toMatchObject({ creates: [], requeueAfter: 9000 });
    expect(plan(job(limits), [pod('Failed'), pod('Failed')])).toMatchObject({
      creates: [],
      requeueAfter: 19_000,
    });
    const old = pod('Failed', { ended: NOW - 10_000 });
    expect(plan(job(limits), [old]).creates).toHaveLength(1);
    const before = [pod('Failed', { ended: NOW - 3000 }), pod('Succeeded', { ended: NOW - 2000 })];
    expect(plan(job({ completions: 2 }), before).creates).toHaveLength(1);
  });

  it('fails beyond the backoff limit, and counts the pods that it deletes', () => {
    const pods = [pod('Failed'), pod('Running')];
    const { deletes, outcome, status } = plan(job({ backoffLimit: 0, parallelism: 2, completions: 2 }), pods);
    expect(deletes).toEqual([pods[1]]);
    expect(outcome).toEqual({
      type: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    });
    expect(status.uncountedTerminatedPods?.failed).toHaveLength(2);
    expect(status.conditions?.[0]?.type).toBe('FailureTarget');
  });

  it('counts container restarts as failures with restartPolicy OnFailure', () => {
    const restarting = pod('Running');
    restarting.status!.containerStatuses![0]!.restartCount = 2;
    const template = { spec: { restartPolicy: 'OnFailure', containers: [] } };
    expect(plan(job({ template, backoffLimit: 2 }), [restarting]).outcome?.reason).toBe(
      'BackoffLimitExceeded',
    );
    expect(plan(job({ template, backoffLimit: 3 }), [restarting]).outcome).toBeUndefined();
  });

  it('fails at the deadline, and requeues until then', () => {
    const limited = job({ activeDeadlineSeconds: 30 }, { startTime: timestamp(NOW - 20_000) });
    expect(plan(limited, [pod('Running')]).requeueAfter).toBe(10_000);
    expect(plan(limited, [pod('Running')], NOW + 10_000).outcome?.reason).toBe('DeadlineExceeded');
  });

  it('keeps an outcome that was decided', () => {
    const conditions = [{ type: 'FailureTarget', status: 'True', reason: 'DeadlineExceeded', message: 'm' }];
    const { outcome } = plan(job({}, { conditions }), [pod('Succeeded')]);
    expect(outcome).toEqual({ type: 'Failed', reason: 'DeadlineExceeded', message: 'm' });
  });

  it('while suspended, deletes its pods without counting them; restarts the clock when resumed', () => {
    const started = { startTime: timestamp(NOW - 5000) };
    const running = pod('Running');
    const suspended = plan(job({ suspend: true }, started), [running]);
    expect(suspended.removes).toEqual([running]);
    expect(suspended.status).toMatchObject({
      startTime: undefined,
      conditions: [{ type: 'Suspended', status: 'True', reason: 'JobSuspended' }],
    });
    const resumed = plan(job({}, suspended.status), [], NOW + 5000);
    expect(resumed.status).toMatchObject({
      startTime: timestamp(NOW + 5000),
      conditions: [{ type: 'Suspended', status: 'False', reason: 'JobResumed' }],
    });
    expect(resumed.events[0]).toMatchObject({ reason: 'Resumed', message: 'Job resumed' });
    expect(resumed.creates).toHaveLength(1);
  });

  it('without completions, ends after one success when all pods have finished', () => {
    const any = { completions: undefined, parallelism: 2 };
    expect(plan(job(any), [pod('Succeeded'), pod('Running')])).toMatchObject({ creates: [], removes: [] });
    expect(plan(job(any), [pod('Succeeded'), pod('Failed')]).outcome?.type).toBe('Complete');
  });

  it('gives every index to one pod', () => {
    const indexed = job(
      { completionMode: 'Indexed', completions: 5, parallelism: 3 },
      { completedIndexes: '0' },
    );
    const pods = [pod('Succeeded', { index: 2 }), pod('Running', { index: 1 })];
    const { creates, status } = plan(indexed, pods);
    expect(creates).toEqual([3, 4]);
    expect(status).toMatchObject({ completedIndexes: '0,2', succeeded: 2, uncountedTerminatedPods: {} });
    const twice = [pod('Running', { index: 1 }), pod('Pending', { index: 1 }), pod('Running', { index: 7 })];
    expect(plan(indexed, twice).removes).toHaveLength(2);
  });
});

describe('newPod', () => {
  it('have the finalizer and their index', () => {
    expect(newPod(job(), undefined).metadata).toMatchObject({
      generateName: 'work-',
      finalizers: [TRACKING_FINALIZER],
    });
    const indexed = newPod(job(), 3);
    expect(indexed.metadata.generateName).toBe('work-3-');
    expect(indexed.spec?.hostname).toBe('work-3');
    expect(indexed.spec?.containers[0]?.env?.[0]?.name).toBe('JOB_COMPLETION_INDEX');
    expect(completionIndex(job({ completions: 4 }), indexed)).toBe(3);
  });
});

describe('indexes', () => {
  it('are parsed as they were formatted', () => {
    expect(formatIndexes([5, 0, 1, 3, 4, 9])).toBe('0,1,3-5,9');
    const sets = fc.uniqueArray(fc.nat(30));
    fc.assert(
      fc.property(sets, (indexes) => {
        expect([...parseIndexes(formatIndexes(indexes), 31)]).toEqual(indexes.toSorted((a, b) => a - b));
      }),
    );
  });
});

describe('expiresInMs', () => {
  it('counts from the end of the Job', () => {
    const end = { type: 'Complete', status: 'True', lastTransitionTime: timestamp(NOW) };
    const finished = job({ ttlSecondsAfterFinished: 10 }, { conditions: [end] });
    expect(expiresInMs(finished, NOW + 4000)).toBe(6000);
    expect(expiresInMs(finished, NOW + 40_000)).toBe(0);
    expect(expiresInMs(job({ ttlSecondsAfterFinished: 10 }), NOW)).toBeUndefined();
  });
});

/** A Job and its pods as the API server stores them; a reconcile may be interrupted after any write. */
class World {
  job: Job;
  pods: Pod[] = [];
  now = NOW;
  readonly ended = { Succeeded: 0, Failed: 0 };
  #serial = 0;

  constructor(spec: Partial<NonNullable<Job['spec']>>) {
    this.job = job(spec);
  }

  /** A pod ends by itself, or is deleted. */
  act(choice: number, deed: 'Succeeded' | 'Failed' | 'delete'): void {
    const active = this.pods.filter(isActive);
    const chosen = active[choice % Math.max(1, active.length)];
    if (chosen === undefined) return;
    this.ended[deed === 'Succeeded' ? 'Succeeded' : 'Failed']++;
    if (deed === 'delete') this.#delete(chosen);
    else this.pods[this.pods.indexOf(chosen)] = { ...chosen, status: { phase: deed } };
  }

  /** Removes terminating pods that no finalizer holds. */
  sweep(): void {
    this.pods = this.pods.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0,
    );
  }

  reconcile(writes: number): void {
    this.now += 3_600_000;
    const steps = this.#steps();
    for (let i = 0; i < writes && steps.next().done !== true; i++);
  }

  *#steps(): Generator<void> {
    if (finishedCondition(this.job) !== undefined) return;
    const plan = planJob({ job: this.job, pods: this.pods, settled: true, now: this.now });
    for (const removed of plan.removes) {
      removed.metadata.finalizers = [];
      this.#delete(removed);
      yield;
    }
    for (const deleted of plan.deletes) {
      this.ended.Failed++;
      this.#delete(deleted);
      yield;
    }
    for (const index of plan.creates) {
      const made = newPod(this.job, index);
      made.metadata = { ...made.metadata, uid: `w${this.#serial++}`, creationTimestamp: timestamp(this.now) };
      this.pods.push({ ...made, status: { phase: 'Running' } });
      yield;
    }
    this.job = { ...this.job, status: plan.status };
    yield;
    for (const released of plan.release) {
      released.metadata.finalizers = [];
      yield;
    }
    this.sweep();
    const { status } = concludeJob(this.job, plan, trackedUids(this.pods), this.now);
    this.job = { ...this.job, status };
    yield;
  }

  #delete(pod: Pod): void {
    pod.metadata.deletionTimestamp = timestamp(this.now);
  }
}

describe('a Job whose controller may be killed after any write', () => {
  it('counts every pod once and loses none', () => {
    const deed = fc.constantFrom('Succeeded' as const, 'Failed' as const, 'delete' as const);
    const step = fc.record({ choice: fc.nat(5), deed, writes: fc.nat(8) });
    const spec = fc.record({
      completions: fc.integer({ min: 1, max: 5 }),
      parallelism: fc.integer({ min: 1, max: 4 }),
      backoffLimit: fc.nat(6),
    });
    fc.assert(
      fc.property(spec, fc.array(step, { maxLength: 30 }), (limits, steps) => {
        const world = new World(limits);
        for (const { choice, deed, writes } of steps) {
          world.reconcile(writes);
          world.act(choice, deed);
        }
        for (let i = 0; i < 3; i++) {
          world.sweep();
          world.reconcile(Number.POSITIVE_INFINITY);
        }
        const { succeeded = 0, failed = 0, uncountedTerminatedPods } = world.job.status ?? {};
        expect(uncountedTerminatedPods).toEqual({});
        expect({ succeeded, failed }).toEqual({
          succeeded: world.ended.Succeeded,
          failed: world.ended.Failed,
        });
        expect(world.pods.filter(isActive).length).toBeLessThanOrEqual(limits.parallelism);
      }),
    );
  });
});
