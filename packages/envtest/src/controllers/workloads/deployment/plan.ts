import type { Pod, ReplicaSet } from '@tidegate/kube';
import { DESIRED_REPLICAS, MAX_REPLICAS } from './annotations.ts';
import { isRolling, limitsOf } from './limits.ts';
import { isComplete } from './progress.ts';
import { recreateSizes } from './recreate.ts';
import { currentAnnotations, outdated } from './revisions.ts';
import { rollingSizes } from './rolling.ts';
import { type Rollout, sizeOf } from './rollout.ts';
import { scaledSizes, wasScaled } from './scale.ts';
import type { Sizes } from './sizes.ts';
import { newReplicaSet } from './template.ts';

/** One change of a ReplicaSet. */
export type ReplicaSetChange =
  | { type: 'create'; replicaSet: ReplicaSet }
  | {
      type: 'update';
      replicaSet: ReplicaSet;
      replicas: number;
      minReadySeconds: number | undefined;
      annotations: Record<string, string>;
    }
  | { type: 'delete'; replicaSet: ReplicaSet };

/**
 * The changes to make now, in this order. `oldPods` are the pods of the old ReplicaSets, including terminating ones.
 */
export function plan(rollout: Rollout, oldPods: readonly Pod[]): ReplicaSetChange[] {
  const { deployment } = rollout;
  if (deployment.metadata.deletionTimestamp !== undefined) return [];
  const sizes = nextSizes(rollout, oldPods);
  const clean = deployment.spec?.paused === true || isComplete(deployment, deployment.status);
  return [
    ...forCurrent(rollout, sizes),
    ...rollout.old.flatMap((replicaSet) => forOld(rollout, replicaSet, sizes)),
    ...(clean ? outdated(rollout) : []).map(
      (replicaSet): ReplicaSetChange => ({ type: 'delete', replicaSet }),
    ),
  ];
}

function nextSizes(rollout: Rollout, oldPods: readonly Pod[]): Sizes {
  if (rollout.deployment.spec?.paused === true) return scaledSizes(rollout);
  if (!isRolling(rollout.deployment)) return recreateSizes(rollout, oldPods);
  return wasScaled(rollout) ? scaledSizes(rollout) : rollingSizes(rollout);
}

function forCurrent(rollout: Rollout, { current: replicas }: Sizes): ReplicaSetChange[] {
  const { deployment, current } = rollout;
  if (replicas === undefined) return [];
  const annotations = currentAnnotations(rollout);
  if (current === undefined) {
    const { metadata, spec, ...rest } = newReplicaSet(deployment);
    const sized = { ...annotations, ...sizeAnnotations(rollout) };
    const replicaSet = {
      ...rest,
      metadata: { ...metadata, annotations: sized },
      spec: { ...spec!, replicas },
    };
    return [{ type: 'create', replicaSet }];
  }
  return update(rollout, current, replicas, annotations, deployment.spec?.minReadySeconds);
}

const forOld = (rollout: Rollout, replicaSet: ReplicaSet, { old }: Sizes): ReplicaSetChange[] =>
  update(
    rollout,
    replicaSet,
    old.get(replicaSet) ?? sizeOf(replicaSet),
    replicaSet.metadata.annotations ?? {},
    replicaSet.spec?.minReadySeconds,
  );

function update(
  rollout: Rollout,
  replicaSet: ReplicaSet,
  replicas: number,
  annotations: Record<string, string>,
  minReadySeconds: number | undefined,
): ReplicaSetChange[] {
  // The size annotations record the total that the size is a share of. They change with the size, and also when the
  // Deployment was scaled but this ReplicaSet keeps its size.
  const sized = replicas !== sizeOf(replicaSet) || (replicas > 0 && wasScaled(rollout));
  const wanted = sized ? { ...annotations, ...sizeAnnotations(rollout) } : annotations;
  const present = replicaSet.metadata.annotations ?? {};
  const same =
    replicas === sizeOf(replicaSet) &&
    (minReadySeconds ?? 0) === (replicaSet.spec?.minReadySeconds ?? 0) &&
    Object.keys(wanted).every((name) => wanted[name] === present[name]);
  return same ? [] : [{ type: 'update', replicaSet, replicas, minReadySeconds, annotations: wanted }];
}

function sizeAnnotations({ deployment }: Rollout): Record<string, string> {
  const { replicas, maxSurge } = limitsOf(deployment);
  return { [DESIRED_REPLICAS]: String(replicas), [MAX_REPLICAS]: String(replicas + maxSurge) };
}
