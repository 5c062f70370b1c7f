/**
 * Counting every pod once. A pod that has ended is held by the tracking finalizer until its uid stands in
 * `status.uncountedTerminatedPods`; then the finalizer goes; then the uid turns into one more in a counter. Whatever
 * step a crash falls between, the next look at job and pods tells where to go on.
 */

import type { Job, Pod } from '@tidegate/kube';
import type { JobStatus } from 'kubernetes-types/batch/v1.d.ts';
import type { Outcome } from './conditions.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';
import { completionIndex, isFailed, isIndexed, isSucceeded, isTracked } from './pods.ts';

/** More at once would make the status too long. */
const MOST_UNCOUNTED = 500;

export interface Tally {
  succeeded: number;
  failed: number;
}

/** What the counters will say when all that has ended so far is counted. */
export function tally(job: Job, status: JobStatus, pods: readonly Pod[]): Tally {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const known = new Set([...succeeded, ...failed]);
  const fresh = pods.filter((pod) => isTracked(pod) && !known.has(uidOf(pod)) && hasPlace(job, pod));
  const newFailures = fresh.filter((pod) => isFailed(job, pod)).length;
  const newSuccesses = fresh.filter(isSucceeded);
  const total = isIndexed(job)
    ? completedIndexes(job, status, newSuccesses).size
    : (status.succeeded ?? 0) + succeeded.length + newSuccesses.length;
  return { succeeded: total, failed: (status.failed ?? 0) + failed.length + newFailures };
}

export interface Ended {
  status: JobStatus;
  /** Pods whose finalizer may go as soon as the status is written. */
  release: Pod[];
  /** Whether that was all. */
  complete: boolean;
}

/** Notes the pods that have ended. With the job's outcome known, nothing that goes on counts as work any more. */
export function noteEnded(
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  outcome: Outcome | undefined,
): Ended {
  const mayGo = outcome !== undefined || job.metadata.deletionTimestamp !== undefined;
  const ended = pods.filter((pod) => isTracked(pod) && (mayGo || isSucceeded(pod) || isFailed(job, pod)));
  const release = ended.slice(0, MOST_UNCOUNTED);
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const known = new Set([...succeeded, ...failed]);
  const fresh = release.filter((pod) => !known.has(uidOf(pod)) && hasPlace(job, pod));
  const successes = fresh.filter(isSucceeded);
  const failures = fresh.filter(
    (pod) => !isSucceeded(pod) && (outcome?.type === 'Failed' || isFailed(job, pod)),
  );
  const noted = withUncounted(status, isIndexed(job) ? succeeded : [...succeeded, ...successes.map(uidOf)], [
    ...failed,
    ...failures.map(uidOf),
  ]);
  return {
    status: isIndexed(job) ? withIndexes(job, noted, successes) : noted,
    release,
    complete: release.length === ended.length,
  };
}

/** Counts the noted pods that no finalizer holds any more. `tracked` are the uids of those that one does. */
export function countReleased(status: JobStatus, tracked: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const held = (uids: string[]): string[] => uids.filter((uid) => tracked.has(uid));
  const plus = (count: number | undefined, uids: string[]): number | undefined =>
    (count ?? 0) + uids.length - held(uids).length || undefined;
  return {
    ...withUncounted(status, held(succeeded), held(failed)),
    succeeded: plus(status.succeeded, succeeded),
    failed: plus(status.failed, failed),
  };
}

export function isAllCounted({ uncountedTerminatedPods }: JobStatus): boolean {
  const { succeeded = [], failed = [] } = uncountedTerminatedPods ?? {};
  return succeeded.length + failed.length === 0;
}

export function completedIndexes(job: Job, status: JobStatus, successes: readonly Pod[]): Set<number> {
  const indexes = parseIndexes(status.completedIndexes, job.spec?.completions ?? 0);
  for (const pod of successes) {
    const index = completionIndex(job, pod);
    if (index !== undefined) indexes.add(index);
  }
  return indexes;
}

/** An index can be completed any number of times and counts once, so its pods need not be remembered. */
function withIndexes(job: Job, status: JobStatus, successes: readonly Pod[]): JobStatus {
  const indexes = completedIndexes(job, status, successes);
  return {
    ...status,
    completedIndexes: formatIndexes(indexes) || undefined,
    succeeded: indexes.size || undefined,
  };
}

const withUncounted = (status: JobStatus, succeeded: string[], failed: string[]): JobStatus => ({
  ...status,
  uncountedTerminatedPods: {
    ...(succeeded.length === 0 ? {} : { succeeded }),
    ...(failed.length === 0 ? {} : { failed }),
  },
});

/** A pod for an index that the job does not have counts for nothing. */
const hasPlace = (job: Job, pod: Pod): boolean => !isIndexed(job) || completionIndex(job, pod) !== undefined;

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';
