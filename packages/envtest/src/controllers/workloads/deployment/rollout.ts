import type { Deployment, ReplicaSet } from '@tidegate/kube';
import { hasTemplateOf } from './template.ts';

/** A Deployment with its ReplicaSets: the one of the present template, if it exists, and those before, oldest first. */
export interface Rollout {
  deployment: Deployment;
  current: ReplicaSet | undefined;
  old: readonly ReplicaSet[];
}

export function rolloutOf(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Rollout {
  const byAge = replicaSets.toSorted(olderFirst);
  // Should several match, all controllers must choose the same one.
  const current = byAge.find((replicaSet) => hasTemplateOf(replicaSet, deployment));
  return { deployment, current, old: byAge.filter((replicaSet) => replicaSet !== current) };
}

export const allOf = ({ current, old }: Rollout): readonly ReplicaSet[] =>
  current === undefined ? old : [...old, current];

export const sizeOf = (replicaSet: ReplicaSet | undefined): number =>
  replicaSet === undefined ? 0 : (replicaSet.spec?.replicas ?? 1);

/** Of the pods that are to stay: those that could not be deleted yet do not count. */
export const availableOf = (replicaSet: ReplicaSet | undefined): number =>
  Math.min(sizeOf(replicaSet), replicaSet?.status?.availableReplicas ?? 0);

/** Whether the status is about the present size. Before, it may count pods that went with an earlier one. */
export const isObserved = ({ metadata, status }: ReplicaSet): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

export function olderFirst(a: ReplicaSet, b: ReplicaSet): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`);
  return left! < right! ? -1 : 1;
}
