import {
  type Condition,
  matcherFromLabels,
  type Pod,
  type ReplicaSet,
  type ReplicationController,
  removeCondition,
  setCondition,
} from '@tidegate/kube';
import { isAvailable, isReady } from '../../pods/index.ts';

/** The pods that the ReplicaSet controls, by state. */
export interface ObservedPods {
  active: readonly Pod[];
  terminating: readonly Pod[];
}

/** A ReplicaSet or a ReplicationController. */
export type Replicas = ReplicaSet | ReplicationController;

type Status = NonNullable<Replicas['status']> & { terminatingReplicas?: number };

/** The status of the owner. `failure` is the error from creating or deleting its pods. */
export function replicasStatus(
  owner: Replicas,
  { active, terminating }: ObservedPods,
  failure: unknown,
  now: number,
): Status {
  const { template, minReadySeconds = 0 } = owner.spec!;
  const labeled = matcherFromLabels(template?.metadata?.labels ?? {});
  const count = (holds: (pod: Pod) => boolean): number | undefined =>
    active.filter(holds).length || undefined;
  const conditions = conditionsOf(owner, active.length, failure, now);
  return {
    replicas: active.length,
    fullyLabeledReplicas: count((pod) => labeled.matches(pod.metadata.labels)),
    readyReplicas: count(isReady),
    availableReplicas: count((pod) => isAvailable(pod, minReadySeconds, now)),
    terminatingReplicas: terminating.length,
    observedGeneration: owner.metadata.generation,
    conditions: conditions.length === 0 ? undefined : [...conditions],
  };
}

function conditionsOf(
  { spec, status }: Replicas,
  actual: number,
  failure: unknown,
  now: number,
): readonly Condition[] {
  const conditions = (status?.conditions ?? []) as Condition[];
  if (failure === undefined) return removeCondition(conditions, 'ReplicaFailure');
  const reason = actual < (spec?.replicas ?? 1) ? 'FailedCreate' : 'FailedDelete';
  const message = failure instanceof Error ? failure.message : String(failure);
  return setCondition(conditions, { type: 'ReplicaFailure', status: 'True', reason, message }, now);
}
