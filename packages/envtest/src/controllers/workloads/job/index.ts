/**
 * Job: runs pods until enough of them have succeeded.
 *
 * One reconcile, after a pod or a Job has changed:
 *   1. Claim the pods and compute the plan (`plan.ts`, `plan-pods.ts`, `backoff.ts`).
 *   2. Create and delete pods.
 *   3. Write the status, in which finished pods are recorded by uid (`tracking.ts`).
 *   4. Remove the tracking finalizer from these pods (`finalizers.ts`).
 *   5. Count them, and write the status again, with the final condition if the Job is over (`conditions.ts`).
 * The order of steps 3 to 5 makes sure that every pod is counted exactly once, even if the controller is killed in
 * between.
 */

import {
  type EventRecorder,
  type Informer,
  isNotFound,
  JOBS,
  type Job,
  keyOf,
  matcherFromSelector,
  PODS,
  type Pod,
  type ReconcileResult,
  splitKey,
} from '@tidegate/kube';
import type { JobStatus } from 'kubernetes-types/batch/v1.d.ts';
import type { ControllerContext, MakeController } from '../../context.ts';
import {
  claimable,
  claimPods,
  controllerOf,
  indexByController,
  isActive,
  keysOfOwners,
  PodControl,
} from '../../pods/index.ts';
import { writeStatus } from '../../write-status.ts';
import { recordEvents } from '../planned-events.ts';
import { workloadController } from '../workload-controller.ts';
import { finishedCondition } from './conditions.ts';
import { jobKeyOf, TrackingFinalizers } from './finalizers.ts';
import { OwnStatus } from './own-status.ts';
import { concludeJob, type JobPlan, planJob, trackedUids } from './plan.ts';
import { newPod } from './pods.ts';
import { expiresInMs } from './ttl.ts';

const OUR_NAME = 'kubernetes.io/job-controller';

/** Keys are Jobs. */
export const jobController: MakeController = (context) => {
  const jobs = context.informers.for(JOBS);
  const pods = context.informers.for(PODS);
  indexByController(pods);
  const reconciler = new JobReconciler(context, jobs, pods);
  const keysOfJobs = keysOfOwners(jobs, 'Job', ({ spec }) => spec?.selector);
  return workloadController(context, {
    name: 'job',
    concurrency: 5,
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  })
    .watch(jobs)
    .watch(pods, (pod) => new Set([...keysOfJobs(pod), ...jobKeyOf(pod)]));
};

class JobReconciler {
  readonly #context: ControllerContext;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl;
  readonly #finalizers: TrackingFinalizers;
  readonly #ownStatus = new OwnStatus();

  constructor(context: ControllerContext, jobs: Informer<Job>, pods: Informer<Pod>) {
    const { client, clock } = context;
    this.#context = context;
    this.#jobs = jobs;
    this.#pods = pods;
    this.#recorder = context.recorderFor('job-controller');
    this.#podControl = new PodControl({ client, pods, recorder: this.#recorder, clock });
    this.#finalizers = new TrackingFinalizers(client, pods);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const job = this.#jobs.cache.get(key);
    if (this.#ownStatus.isBehind(key, job)) return undefined;
    const isOurs = job === undefined || (job.spec?.managedBy ?? OUR_NAME) === OUR_NAME;
    if (!isOurs) return undefined;
    await this.#releaseForgotten(key, job, signal);
    if (job === undefined) return undefined;
    return finishedCondition(job) === undefined ? this.#sync(job, signal) : this.#expire(job, signal);
  }

  async #sync(job: Job, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const now = this.#context.clock.now();
    // Ask before reading the pods: a pod that appears in between is then only counted a little later.
    const waitMs = this.#podControl.expectations.waitMs(job);
    const pods = await this.#claim(job, signal);
    const plan = planJob({ job, pods, settled: waitMs === 0, now });
    const failure = await this.#changePods(job, plan, signal);
    const active = failure === undefined ? plan.status.active : pods.filter(isActive).length || undefined;
    const noted = await this.#write(job, { ...plan.status, active }, signal);
    recordEvents(this.#recorder, job, plan.events);

    const removed = await this.#finalizers.remove(plan.release, signal);
    const tracked = trackedUids(pods);
    for (const uid of removed.uids) tracked.delete(uid);
    const conclusion = concludeJob(job, { ...plan, status: noted.status ?? {} }, tracked, now);
    await this.#write(noted, conclusion.status, signal);
    recordEvents(this.#recorder, job, conclusion.events);
    const problem = failure ?? removed.failure;
    if (problem !== undefined) throw problem;
    const times = [plan.requeueAfter ?? 0, waitMs].filter((ms) => ms > 0);
    return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
  }

  async #claim(job: Job, signal: AbortSignal): Promise<Pod[]> {
    const candidates = claimable(this.#pods.cache, job);
    const orphans = new Set(candidates.filter((pod) => controllerOf(pod) === undefined).map(keyOf));
    const claimed = await claimPods({
      client: this.#context.client,
      owner: job,
      ownerResource: JOBS,
      selector: matcherFromSelector(job.spec?.selector),
      candidates,
      signal,
    });
    return Promise.all(
      claimed.map((pod) =>
        orphans.has(keyOf(pod)) ? this.#finalizers.add(pod, signal) : this.#finalizers.shown(pod),
      ),
    );
  }

  /** Returns the error instead of throwing it, because the status has to be written in any case. */
  async #changePods(job: Job, plan: JobPlan, signal: AbortSignal): Promise<unknown> {
    try {
      const { failure } = await this.#finalizers.remove(plan.removes, signal);
      if (failure !== undefined) return failure;
      await this.#podControl.deletePods(job, [...plan.removes, ...plan.deletes], signal);
      const create = (i: number): Pod => newPod(job, plan.creates[i]);
      await this.#podControl.createPods(job, plan.creates.length, create, signal);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #write(job: Job, status: JobStatus, signal: AbortSignal): Promise<Job> {
    const written = await writeStatus(this.#context.client, JOBS, job, status, signal);
    if (written !== job) this.#ownStatus.wrote(written);
    return written;
  }

  /** Removes the finalizer from pods whose Job is gone or finished, because no Job will count them. */
  async #releaseForgotten(key: string, job: Job | undefined, signal: AbortSignal): Promise<void> {
    const isOver = job === undefined || finishedCondition(job) !== undefined;
    const forgotten = this.#finalizers
      .heldFor(key)
      .filter(
        (pod) => isOver || (controllerOf(pod) !== undefined && controllerOf(pod)?.uid !== job.metadata.uid),
      );
    if (forgotten.length === 0) return;
    // The Job cache may be behind the pod cache.
    const uid = await this.#uidOfUnfinished(key, signal);
    const release = forgotten.filter((pod) => controllerOf(pod)?.uid !== uid || uid === undefined);
    const { failure } = await this.#finalizers.remove(release, signal);
    if (failure !== undefined) throw failure;
  }

  async #uidOfUnfinished(key: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const job = await this.#context.client.get(JOBS, splitKey(key), { signal });
      return finishedCondition(job) === undefined ? job.metadata.uid : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #expire(job: Job, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const left = expiresInMs(job, this.#context.clock.now());
    if (left === undefined || left > 0) return { requeueAfter: left };
    const { namespace, name = '', uid, resourceVersion } = job.metadata;
    // With the resourceVersion, because the user may just have changed the TTL.
    const preconditions = { uid, resourceVersion };
    const options = { propagationPolicy: 'Foreground', preconditions, signal } as const;
    try {
      await this.#context.client.delete(JOBS, { namespace, name }, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }
}
