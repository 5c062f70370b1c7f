import type { ReplicaSet } from '@tidegate/kube';
import type { DeploymentStatus } from 'kubernetes-types/apps/v1.d.ts';
import { type Conditions, withCondition, withoutCondition } from './conditions.ts';
import { limitsOf } from './limits.ts';
import { type Creation, withProgress } from './progress.ts';
import { allOf, type Rollout, sizeOf, sum } from './rollout.ts';

type ReplicaSetStatus = NonNullable<ReplicaSet['status']> & { terminatingReplicas?: number };
type Status = DeploymentStatus & { terminatingReplicas?: number };

/** The status of the Deployment, from the statuses of its ReplicaSets and the outcome of the last creation. */
export function deploymentStatus(rollout: Rollout, creation: Creation, now: number): Status {
  const { deployment, current } = rollout;
  const { collisionCount: collisions = 0 } = deployment.status ?? {};
  const all = allOf(rollout);
  const statuses = all.map((replicaSet): Partial<ReplicaSetStatus> => replicaSet.status ?? {});
  const available = sum(statuses.map(({ availableReplicas = 0 }) => availableReplicas));
  const counts: Status = {
    observedGeneration: deployment.metadata.generation,
    replicas: nonZero(sum(statuses.map(({ replicas = 0 }) => replicas))),
    updatedReplicas: nonZero(current?.status?.replicas ?? 0),
    readyReplicas: nonZero(sum(statuses.map(({ readyReplicas = 0 }) => readyReplicas))),
    availableReplicas: nonZero(available),
    unavailableReplicas: nonZero(Math.max(0, sum(all.map(sizeOf)) - available)),
    terminatingReplicas: sum(statuses.map(({ terminatingReplicas = 0 }) => terminatingReplicas)),
    collisionCount: creation.nameTaken === true ? collisions + 1 : nonZero(collisions),
  };
  const before: Conditions = deployment.status?.conditions ?? [];
  const conditions = withReplicaFailure(
    rollout,
    withProgress(rollout, withAvailable(rollout, before, available, now), counts, creation, now),
    now,
  );
  return { ...counts, conditions: [...conditions] };
}

function withAvailable(
  { deployment }: Rollout,
  conditions: Conditions,
  available: number,
  now: number,
): Conditions {
  const { replicas, maxUnavailable } = limitsOf(deployment);
  const update =
    available >= replicas - maxUnavailable
      ? {
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        }
      : {
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        };
  return withCondition(conditions, { type: 'Available', ...update }, now);
}

/** Why a ReplicaSet cannot create its pods; a failure of the current ReplicaSet comes first. */
function withReplicaFailure({ current, old }: Rollout, conditions: Conditions, now: number): Conditions {
  const failures = [current, ...old].flatMap((replicaSet) =>
    (replicaSet?.status?.conditions ?? []).filter(({ type }) => type === 'ReplicaFailure'),
  );
  const [failure] = failures;
  if (failure === undefined) return withoutCondition(conditions, 'ReplicaFailure');
  const { type, status, reason, message } = failure;
  return withCondition(conditions, { type, status, reason, message }, now);
}

/** The API omits zeros. */
const nonZero = (count: number): number | undefined => count || undefined;
