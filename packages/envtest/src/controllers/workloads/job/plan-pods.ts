import type { Job, Pod } from '@tidegate/kube';
import { deletionOrder, isActive } from '../../pods/index.ts';
import { creationDelayMs } from './backoff.ts';
import { completionIndex, isEnding, isIndexed, isSucceeded, isTracked, replacesOnlyFailed } from './pods.ts';
import { completedIndexes, type Tally } from './tracking.ts';

/** The maximum number of pods to create or delete in one reconcile. */
const BURST = 500;

export interface PodChange {
  creates: (number | undefined)[];
  removes: Pod[];
  /** Milliseconds until missing pods may be created, when they have to wait. */
  waitMs?: number;
}

/** Which pods a running Job needs, and which are surplus. Never both at once: surplus pods are deleted first. */
export function planPods(job: Job, pods: readonly Pod[], counts: Tally, now: number): PodChange {
  const active = pods.filter(isActive);
  const wanted = wantedActive(job, active.length, counts);
  const removes = surplus(job, active, Math.max(0, active.length - wanted), now).slice(0, BURST);
  if (removes.length > 0) return { creates: [], removes };
  const ending = replacesOnlyFailed(job) ? pods.filter(isEnding) : [];
  const missing = Math.min(BURST, wanted - active.length - ending.length);
  if (missing <= 0) return { creates: [], removes };
  const waitMs = creationDelayMs(pods, now);
  if (waitMs > 0) return { creates: [], removes, waitMs };
  const creates = isIndexed(job)
    ? pendingIndexes(job, pods, [...active, ...ending], missing)
    : new Array<undefined>(missing).fill(undefined);
  return { creates, removes };
}

function wantedActive({ spec }: Job, active: number, { succeeded }: Tally): number {
  const { suspend, completions, parallelism = 1 } = spec!;
  if (suspend === true) return 0;
  if (completions !== undefined) return Math.max(0, Math.min(parallelism, completions - succeeded));
  // The first success means that all work is done. Pods that are still running may finish.
  return succeeded > 0 ? active : parallelism;
}

/** At least `atLeast` pods. In an indexed Job, also pods without a valid index, and duplicates of an index. */
function surplus(job: Job, active: Pod[], atLeast: number, now: number): Pod[] {
  const superfluous = isIndexed(job) ? withoutPlace(job, active, now) : [];
  const left = active.filter((pod) => !superfluous.includes(pod));
  const more = deletionOrder(left, now).slice(0, Math.max(0, atLeast - superfluous.length));
  return [...superfluous, ...more];
}

function withoutPlace(job: Job, active: Pod[], now: number): Pod[] {
  const taken = new Set<number>();
  // The pod that would be deleted last keeps the index.
  return deletionOrder(active, now)
    .toReversed()
    .filter((pod) => {
      const index = completionIndex(job, pod);
      if (index === undefined || taken.has(index)) return true;
      taken.add(index);
      return false;
    });
}

/** The first indexes that need a pod. A Job can have two billion completions, so only as many as needed are visited. */
function pendingIndexes(job: Job, pods: readonly Pod[], occupying: readonly Pod[], atMost: number): number[] {
  const done = completedIndexes(
    job,
    job.status ?? {},
    pods.filter((pod) => isTracked(pod) && isSucceeded(pod)),
  );
  const taken = new Set(occupying.map((pod) => completionIndex(job, pod)));
  const pending: number[] = [];
  const completions = job.spec!.completions ?? 0;
  for (let index = 0; index < completions && pending.length < atMost; index++) {
    if (!done.has(index) && !taken.has(index)) pending.push(index);
  }
  return pending;
}
