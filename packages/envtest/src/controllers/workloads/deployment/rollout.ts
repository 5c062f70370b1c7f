import type { Deployment, ReplicaSet } from '@tidegate/kube';
import { hasTemplateOf } from './template.ts';

/**
 * A Deployment with its ReplicaSets: the one for the current template, if it exists, and the older ones, oldest
 * first.
 */
export interface Rollout {
  deployment: Deployment;
  current: ReplicaSet | undefined;
  old: readonly ReplicaSet[];
}

/** Divides the ReplicaSets into the one with the current template and the old ones. */
export function rolloutOf(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Rollout {
  const byAge = replicaSets.toSorted(olderFirst);
  // When several match, every controller must choose the same one.
  const current = byAge.find((replicaSet) => hasTemplateOf(replicaSet, deployment));
  return { deployment, current, old: byAge.filter((replicaSet) => replicaSet !== current) };
}

/** All ReplicaSets, the current one last. */
export const allOf = ({ current, old }: Rollout): readonly ReplicaSet[] =>
  current === undefined ? old : [...old, current];

/** The number of pods that the ReplicaSet should have. */
export const sizeOf = (replicaSet: ReplicaSet | undefined): number =>
  replicaSet === undefined ? 0 : (replicaSet.spec?.replicas ?? 1);

/**
 * The available pods, at most as many as the ReplicaSet should have: pods that still have to be deleted do not
 * count.
 */
export const availableOf = (replicaSet: ReplicaSet | undefined): number =>
  Math.min(sizeOf(replicaSet), replicaSet?.status?.availableReplicas ?? 0);

/** Whether the status refers to the current size. Otherwise it may count pods that were deleted meanwhile. */
export const isObserved = ({ metadata, status }: ReplicaSet): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

/** By creation time, then by name, so that the order is always the same. */
export function olderFirst(a: ReplicaSet, b: ReplicaSet): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`);
  return left! < right! ? -1 : 1;
}
