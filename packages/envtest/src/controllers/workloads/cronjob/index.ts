/**
 * CronJob: creates a Job at each time of its schedule.
 *
 * One reconcile: `planCronJob` looks at the existing Jobs and the schedule (`due.ts`) -> the Job that is due is
 * created (`jobs.ts`) -> the status is written -> Jobs beyond the history limits are deleted -> requeue at the next
 * time of the schedule.
 */

import {
  CRON_JOBS,
  type CronJob,
  type EventRecorder,
  isAlreadyExists,
  isNotFound,
  JOBS,
  type Job,
  type KubeClient,
  type ReconcileResult,
} from '@tidegate/kube';
import type { CronJobStatus } from 'kubernetes-types/batch/v1.d.ts';
import type { ObjectReference } from 'kubernetes-types/core/v1.d.ts';
import type { MakeController } from '../../context.ts';
import { controlledBy, controllerOf, indexByController, isControlledBy } from '../../pods/index.ts';
import { timestamp } from '../../timestamp.ts';
import { writeStatus } from '../../write-status.ts';
import { recordEvents } from '../planned-events.ts';
import { workloadController } from '../workload-controller.ts';
import { jobFromTemplate } from './jobs.ts';
import { type CronJobPlan, planCronJob, unexpectedJobs, withJob } from './plan.ts';

/** Keys are CronJobs. */
export const cronJobController: MakeController = (context) => {
  const { client, informers, recorderFor, clock } = context;
  const cronJobs = informers.for(CRON_JOBS);
  const jobs = informers.for(JOBS);
  indexByController(jobs);
  const writer = new Writer(client, recorderFor('cronjob-controller'));

  const reconcile = async (key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> => {
    const cached = cronJobs.cache.get(key);
    if (cached === undefined) return undefined;
    const observed = await writer.observe(cached, controlledBy(jobs.cache, cached), signal);
    const plan = planCronJob({ ...observed, now: clock.now() });
    await writer.carryOut(observed.cronJob, plan, signal);
    return { requeueAfter: plan.requeueAfter };
  };

  return workloadController(context, { name: 'cronjob', reconcile })
    .watch(cronJobs)
    .watch(jobs, (job) => {
      const controller = controllerOf(job);
      return controller?.kind === 'CronJob' ? [`${job.metadata.namespace}/${controller.name}`] : [];
    });
};

class Writer {
  readonly #client: KubeClient;
  readonly #recorder: EventRecorder;

  constructor(client: KubeClient, recorder: EventRecorder) {
    this.#client = client;
    this.#recorder = recorder;
  }

  /**
   * The caches of CronJobs and Jobs are updated independently. Where they contradict each other, the API server is
   * asked.
   */
  async observe(
    cached: CronJob,
    jobs: Job[],
    signal: AbortSignal,
  ): Promise<{ cronJob: CronJob; jobs: Job[] }> {
    const { namespace, name = '' } = cached.metadata;
    const isBehind = unexpectedJobs(cached.status?.active ?? [], jobs).length > 0;
    const cronJob = isBehind ? await this.#client.get(CRON_JOBS, { namespace, name }, { signal }) : cached;
    const known = new Set(jobs.map((job) => job.metadata.uid));
    const unseen = (cronJob.status?.active ?? []).filter(({ uid }) => !known.has(uid));
    const found = await Promise.all(unseen.map((reference) => this.#find(reference, signal)));
    return { cronJob, jobs: [...jobs, ...found.filter((job) => job !== undefined)] };
  }

  async carryOut(cronJob: CronJob, plan: CronJobPlan, signal: AbortSignal): Promise<void> {
    const status =
      plan.start === undefined ? plan.status : await this.#start(cronJob, plan.status, plan.start, signal);
    await writeStatus(this.#client, CRON_JOBS, cronJob, status, signal);
    recordEvents(this.#recorder, cronJob, plan.events);
    // Only after the status is written: until then, the Job's name is the record that its time was handled.
    for (const job of plan.expired) await this.#delete(cronJob, job.metadata, signal);
  }

  async #start(
    cronJob: CronJob,
    status: CronJobStatus,
    { scheduledTime, replaces }: NonNullable<CronJobPlan['start']>,
    signal: AbortSignal,
  ): Promise<CronJobStatus> {
    for (const reference of replaces) await this.#delete(cronJob, reference, signal);
    const job = await this.#create(cronJob, jobFromTemplate(cronJob, scheduledTime), signal);
    const kept = (status.active ?? []).filter((reference) => !replaces.includes(reference));
    // The Job with this name belongs to another owner; this time is skipped.
    if (!isControlledBy(job, cronJob)) return { ...status, lastScheduleTime: timestamp(scheduledTime) };
    return withJob({ ...status, active: kept }, job, scheduledTime);
  }

  async #create(cronJob: CronJob, job: Job, signal: AbortSignal): Promise<Job> {
    try {
      const created = await this.#client.create(JOBS, job, { signal });
      this.#recorder.normal(cronJob, 'SuccessfulCreate', `Created job ${created.metadata.name}`);
      return created;
    } catch (error) {
      const { namespace, name = '' } = job.metadata;
      // It was created before, but the status could not be written afterwards.
      if (isAlreadyExists(error)) return this.#client.get(JOBS, { namespace, name }, { signal });
      const reason = error instanceof Error ? error.message : String(error);
      this.#recorder.warning(cronJob, 'FailedCreate', `Error creating job: ${reason}`);
      throw error;
    }
  }

  async #delete(
    cronJob: CronJob,
    { namespace, name = '', uid }: { namespace?: string; name?: string; uid?: string },
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const options = { propagationPolicy: 'Background', preconditions: { uid }, signal } as const;
      await this.#client.delete(JOBS, { namespace, name }, options);
      this.#recorder.normal(cronJob, 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (isNotFound(error)) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.#recorder.warning(cronJob, 'FailedDelete', `Deleted job: ${reason}`);
      throw error;
    }
  }

  async #find({ namespace, name = '', uid }: ObjectReference, signal: AbortSignal): Promise<Job | undefined> {
    try {
      const job = await this.#client.get(JOBS, { namespace, name }, { signal });
      return job.metadata.uid === uid ? job : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
