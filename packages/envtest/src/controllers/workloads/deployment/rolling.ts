import type { ReplicaSet } from '@tidegate/kube';
import { limitsOf } from './limits.ts';
import { allOf, availableOf, isObserved, type Rollout, sizeOf, sum } from './rollout.ts';
import type { Sizes } from './sizes.ts';

/**
 * The next step of a rolling update. The new ReplicaSet grows into the surge, and the old ones shrink as its pods
 * become available.
 *
 * The arithmetic keeps two limits at all times: the sizes never add up to more than `replicas + maxSurge`, and at
 * least `replicas - maxUnavailable` pods stay available. For example, with 4 replicas, maxSurge 1 and maxUnavailable 1,
 * the sizes (new/old) go from 0/4 to 1/3 and 2/3; when the two new pods are available, to 2/1 and 4/1; when all four
 * are, to 4/0.
 */
export function rollingSizes(rollout: Rollout): Sizes {
  const { deployment, current, old } = rollout;
  const { replicas, maxSurge, maxUnavailable } = limitsOf(deployment);
  const total = sum(allOf(rollout).map(sizeOf));
  const room = Math.max(0, replicas + maxSurge - total);
  const currentSize = Math.min(replicas, sizeOf(current) + room);

  // Growing depends only on the sizes. Shrinking depends on which pods are available, so all statuses must be current.
  if (!allOf(rollout).every(isObserved)) return { current: currentSize, old: new Map() };

  const needed = replicas - maxUnavailable;
  const oldTotal = sum(old.map(sizeOf));
  // Pods of the new ReplicaSet that are not available yet do not count, whether they are late or will never work.
  const spare = oldTotal + Math.min(currentSize, availableOf(current)) - needed;
  return { current: currentSize, old: shrunk(old, Math.max(0, spare), available(rollout) - needed) };
}

const available = (rollout: Rollout): number => sum(allOf(rollout).map(availableOf));

/**
 * Removes unavailable pods first, from the oldest ReplicaSet on, because their removal costs no capacity. Then
 * removes available pods, but only as many as are `dispensable`.
 */
function shrunk(old: readonly ReplicaSet[], spare: number, dispensable: number): Map<ReplicaSet, number> {
  const sizes = new Map<ReplicaSet, number>();
  let left = spare;
  for (const replicaSet of old) {
    const unhealthy = Math.min(left, sizeOf(replicaSet) - availableOf(replicaSet));
    left -= unhealthy;
    sizes.set(replicaSet, sizeOf(replicaSet) - unhealthy);
  }
  left = Math.min(left, Math.max(0, dispensable));
  for (const [replicaSet, size] of sizes) {
    const down = Math.min(left, size);
    left -= down;
    sizes.set(replicaSet, size - down);
  }
  return sizes;
}
