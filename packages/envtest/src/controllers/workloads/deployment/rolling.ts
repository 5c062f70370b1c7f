import type { ReplicaSet } from '@tidegate/kube';
import { limitsOf } from './limits.ts';
import { allOf, availableOf, isObserved, type Rollout, sizeOf, sum } from './rollout.ts';
import type { Sizes } from './sizes.ts';

/** The next step of a rolling update: the new ReplicaSet grows into the surge, the old ones shrink as it comes up. */
export function rollingSizes(rollout: Rollout): Sizes {
  const { deployment, current, old } = rollout;
  const { replicas, maxSurge, maxUnavailable } = limitsOf(deployment);
  const total = sum(allOf(rollout).map(sizeOf));
  const room = Math.max(0, replicas + maxSurge - total);
  const currentSize = Math.min(replicas, sizeOf(current) + room);

  // Growing is safe by the sizes alone; shrinking needs to know who works.
  if (!allOf(rollout).every(isObserved)) return { current: currentSize, old: new Map() };

  const needed = replicas - maxUnavailable;
  const oldTotal = sum(old.map(sizeOf));
  // What the new one has not brought up yet must not be missed, whether it runs late or never will.
  const spare = oldTotal + Math.min(currentSize, availableOf(current)) - needed;
  return { current: currentSize, old: shrunk(old, Math.max(0, spare), available(rollout) - needed) };
}

const available = (rollout: Rollout): number => sum(allOf(rollout).map(availableOf));

/** Pods that do not work go first, from the oldest on: nobody misses them. Then those that are `dispensable`. */
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
