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

export type Action =
  | { type: 'create'; replicaSet: ReplicaSet }
  | {
      type: 'update';
      replicaSet: ReplicaSet;
      replicas: number;
      minReadySeconds: number | undefined;
      annotations: Record<string, string>;
    }
  | { type: 'delete'; replicaSet: ReplicaSet };

/** What to do now, in this order. `oldPods` are the pods of the old ReplicaSets, those on their way out included. */
export function plan(rollout: Rollout, oldPods: readonly Pod[]): Action[] {
  const { deployment } = rollout;
  if (deployment.metadata.deletionTimestamp !== undefined) return [];
  const sizes = nextSizes(rollout, oldPods);
  const clean = deployment.spec?.paused === true || isComplete(deployment, deployment.status);
  return [
    ...forCurrent(rollout, sizes),
    ...rollout.old.flatMap((replicaSet) => forOld(rollout, replicaSet, sizes)),
    ...(clean ? outdated(rollout) : []).map((replicaSet): Action => ({ type: 'delete', replicaSet })),
  ];
}

function nextSizes(rollout: Rollout, oldPods: readonly Pod[]): Sizes {
  if (rollout.deployment.spec?.paused === true) return scaledSizes(rollout);
  if (!isRolling(rollout.deployment)) return recreateSizes(rollout, oldPods);
  return wasScaled(rollout) ? scaledSizes(rollout) : rollingSizes(rollout);
}

function forCurrent(rollout: Rollout, { current: replicas }: Sizes): Action[] {
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

const forOld = (rollout: Rollout, replicaSet: ReplicaSet, { old }: Sizes): Action[] =>
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
): Action[] {
  // They say what the size was a part of, so they change with the size, and when that was scaled to the same number.
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
