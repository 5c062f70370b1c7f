import type { Job } from '@tidegate/kube';
import { finishedCondition } from './conditions.ts';

/** Milliseconds until a finished Job is deleted, 0 when it is due; undefined when it is kept. */
export function expiresInMs(job: Job, now: number): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec ?? {};
  const finished = finishedCondition(job)?.lastTransitionTime;
  if (ttlSecondsAfterFinished === undefined || finished === undefined) return undefined;
  if (job.metadata.deletionTimestamp !== undefined) return undefined;
  return Math.max(0, Date.parse(finished) + ttlSecondsAfterFinished * 1000 - now);
}
