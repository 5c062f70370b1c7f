import type { Pod, StatefulSet } from '@tidegate/kube';
import type { StatefulSetStatus } from 'kubernetes-types/apps/v1.d.ts';
import { isAvailable, isReady, isTerminating } from '../../pods/index.ts';
import { revisionOf } from './identity.ts';
import type { Observed } from './plan.ts';

/** The counts in the status. `observedGeneration` is set by the caller. */
export function statefulSetStatus({ set, pods, current, update, now }: Observed): StatefulSetStatus {
  const { minReadySeconds = 0 } = set.spec!;
  const count = (holds: (pod: Pod) => boolean): number => pods.filter(holds).length;
  const isRunning = (pod: Pod): boolean => pod.status?.phase === 'Running' && isReady(pod);
  const has = (revision: string | undefined) => (pod: Pod) =>
    !isTerminating(pod) && revisionOf(pod) === revision;
  const updated = count(has(update.metadata.name));
  const ready = count(isRunning);
  const isDone = isRolledOut(set, [updated, ready, pods.length]);
  const currentName = isDone ? update.metadata.name : current.metadata.name;
  return {
    ...set.status,
    replicas: pods.length,
    readyReplicas: ready || undefined,
    availableReplicas: count((pod) => isRunning(pod) && isAvailable(pod, minReadySeconds, now)),
    currentReplicas: count(has(currentName)) || undefined,
    updatedReplicas: updated || undefined,
    currentRevision: currentName,
    updateRevision: update.metadata.name,
  };
}

/** A rollout is complete when all pods exist, are ready, and have the new revision. */
const isRolledOut = ({ spec }: StatefulSet, counts: number[]): boolean =>
  spec?.updateStrategy?.type === 'RollingUpdate' && counts.every((count) => count === (spec.replicas ?? 1));
