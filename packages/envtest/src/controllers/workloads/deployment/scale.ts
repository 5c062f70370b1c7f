import type { ReplicaSet } from '@tidegate/kube';
import { DESIRED_REPLICAS, MAX_REPLICAS, numberIn } from './annotations.ts';
import { isRolling, type Limits, limitsOf } from './limits.ts';
import { allOf, olderFirst, type Rollout, sizeOf, sum } from './rollout.ts';
import type { Sizes } from './sizes.ts';

/** Whether `spec.replicas` has changed since the ReplicaSets were last sized. */
export const wasScaled = (rollout: Rollout): boolean =>
  allOf(rollout).some((replicaSet) => {
    const desired = numberIn(replicaSet, DESIRED_REPLICAS);
    return (
      sizeOf(replicaSet) > 0 && desired !== undefined && desired !== limitsOf(rollout.deployment).replicas
    );
  });

/**
 * The sizes that follow `spec.replicas` without advancing the rollout: used while paused, and as the first step
 * after the user has scaled the Deployment.
 */
export function scaledSizes(rollout: Rollout): Sizes {
  const limits = limitsOf(rollout.deployment);
  const only = onlyActive(rollout);
  if (only !== undefined) return resized(rollout, new Map([[only, limits.replicas]]));
  if (isSaturated(rollout, limits)) return resized(rollout, new Map(rollout.old.map((old) => [old, 0])));
  return resized(rollout, isRolling(rollout.deployment) ? inProportion(rollout, limits) : new Map());
}

/** The only ReplicaSet with pods; when none has pods, the one that would get them. */
function onlyActive(rollout: Rollout): ReplicaSet | undefined {
  const active = allOf(rollout).filter((replicaSet) => sizeOf(replicaSet) > 0);
  if (active.length === 0) return rollout.current ?? rollout.old.at(-1);
  return active.length === 1 ? active[0] : undefined;
}

/** The new ReplicaSet is complete, so the old ones are no longer needed. */
function isSaturated({ current }: Rollout, { replicas }: Limits): boolean {
  return (
    current !== undefined &&
    sizeOf(current) === replicas &&
    numberIn(current, DESIRED_REPLICAS) === replicas &&
    (current.status?.availableReplicas ?? 0) === replicas
  );
}

/**
 * In the middle of a rollout, every ReplicaSet gets its share of what is added or removed, so that a broken new
 * version does not get all of it. The remainder of the rounding goes to the largest.
 */
function inProportion(rollout: Rollout, { replicas, maxSurge }: Limits): Map<ReplicaSet, number> {
  const active = allOf(rollout).filter((replicaSet) => sizeOf(replicaSet) > 0);
  const allowed = replicas === 0 ? 0 : replicas + maxSurge;
  const change = allowed - sum(active.map(sizeOf));
  // Among ReplicaSets of the same size, the newer one grows first and the older one shrinks first.
  const bySize = active.toSorted(
    (a, b) => sizeOf(b) - sizeOf(a) || (change > 0 ? olderFirst(b, a) : olderFirst(a, b)),
  );
  const sizes = new Map<ReplicaSet, number>();
  let left = change;
  for (const replicaSet of bySize) {
    const share = shareOf(replicaSet, rollout, replicas, maxSurge);
    const part = change > 0 ? Math.max(0, Math.min(share, left)) : Math.min(0, Math.max(share, left));
    left -= part;
    sizes.set(replicaSet, sizeOf(replicaSet) + part);
  }
  const [largest] = bySize;
  if (largest !== undefined) sizes.set(largest, Math.max(0, sizes.get(largest)! + left));
  return sizes;
}

function shareOf(
  replicaSet: ReplicaSet,
  { deployment }: Rollout,
  replicas: number,
  maxSurge: number,
): number {
  const size = sizeOf(replicaSet);
  if (replicas === 0) return -size;
  const before = numberIn(replicaSet, MAX_REPLICAS) || (deployment.status?.replicas ?? 0);
  return before === 0 ? 0 : Math.round((size * (replicas + maxSurge)) / before) - size;
}

const resized = ({ current }: Rollout, sizes: ReadonlyMap<ReplicaSet, number>): Sizes => ({
  current: current === undefined ? undefined : (sizes.get(current) ?? sizeOf(current)),
  old: sizes,
});
