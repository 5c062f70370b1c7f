import type { Pod } from '@tidegate/kube';
import { limitsOf } from './limits.ts';
import { type Rollout, sizeOf } from './rollout.ts';
import type { Sizes } from './sizes.ts';

/** Scales all old ReplicaSets to 0. The new pods are created only after the last old pod has ended. */
export function recreateSizes({ deployment, current, old }: Rollout, oldPods: readonly Pod[]): Sizes {
  const busy =
    old.some((replicaSet) => sizeOf(replicaSet) > 0 || (replicaSet.status?.replicas ?? 0) > 0) ||
    oldPods.some(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const gone = new Map(old.map((replicaSet) => [replicaSet, 0]));
  if (!busy) return { current: limitsOf(deployment).replicas, old: gone };
  // An undefined size means that the ReplicaSet is not created yet; that happens together with its first pods.
  return { current: current === undefined ? undefined : sizeOf(current), old: gone };
}
