/**
 * Counts every pod exactly once (KEP-2307). A finished pod keeps the tracking finalizer until its uid is recorded in
 * `status.uncountedTerminatedPods`. Then the finalizer is removed. Then the uid is removed from the list and the
 * counter is incremented, in one write. After a crash between any two of these steps, the Job and its pods show
 * where to continue.
 */

import type { Job, Pod } from '@tidegate/kube';
import type { JobStatus } from 'kubernetes-types/batch/v1.d.ts';
import type { Outcome } from './conditions.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';
import { completionIndex, isFailed, isIndexed, isSucceeded, isTracked } from './pods.ts';

/** A longer list would make the status too large. */
const MAX_UNCOUNTED = 500;

/** Finished pods by result. */
export interface Tally {
  succeeded: number;
  failed: number;
}

/** The counters after everything that has ended so far is counted. */
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

/** The status after finished pods were added to it. */
export interface Ended {
  status: JobStatus;
  /** Pods whose finalizer may be removed as soon as the status is written. */
  release: Pod[];
  /** Whether all finished pods are included. */
  complete: boolean;
}

/** Records the finished pods in the status. When the outcome is known, running pods are released too. */
export function recordEnded(
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  outcome: Outcome | undefined,
): Ended {
  const mayGo = outcome !== undefined || job.metadata.deletionTimestamp !== undefined;
  const ended = pods.filter((pod) => isTracked(pod) && (mayGo || isSucceeded(pod) || isFailed(job, pod)));
  const release = ended.slice(0, MAX_UNCOUNTED);
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

/** Counts the recorded pods that have lost their finalizer. `tracked` are the uids of pods that still have it. */
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

/** Whether the counters include every pod that is listed as finished. */
export function isAllCounted({ uncountedTerminatedPods }: JobStatus): boolean {
  const { succeeded = [], failed = [] } = uncountedTerminatedPods ?? {};
  return succeeded.length + failed.length === 0;
}

/** The indexes in the status, and those of pods that are not in the status yet. */
export function completedIndexes(job: Job, status: JobStatus, successes: readonly Pod[]): Set<number> {
  const indexes = parseIndexes(status.completedIndexes, job.spec?.completions ?? 0);
  for (const pod of successes) {
    const index = completionIndex(job, pod);
    if (index !== undefined) indexes.add(index);
  }
  return indexes;
}

/** An index counts once, no matter how often it is completed, so the uids of its pods need not be recorded. */
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

/** A pod with an index outside the Job's range does not count. */
const hasPlace = (job: Job, pod: Pod): boolean => !isIndexed(job) || completionIndex(job, pod) !== undefined;

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';
