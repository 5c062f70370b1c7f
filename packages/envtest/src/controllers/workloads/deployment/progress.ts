import type { Deployment, ReplicaSet } from '@tidegate/kube';
import type { DeploymentStatus } from 'kubernetes-types/apps/v1.d.ts';
import {
  type Conditions,
  findCondition,
  withCondition,
  withFreshCondition,
  withoutCondition,
} from './conditions.ts';
import type { Rollout } from './rollout.ts';

const PROGRESSING = 'Progressing';
const AVAILABLE = 'NewReplicaSetAvailable';
const TIMED_OUT = 'ProgressDeadlineExceeded';
const PAUSED = 'DeploymentPaused';
/** The value that clients use for "no deadline". */
const UNLIMITED = 2 ** 31 - 1;

/** The outcome of creating the ReplicaSet for the current template. All fields are undefined when none was due. */
export interface Creation {
  replicaSet?: ReplicaSet;
  /** False when it already existed and only the cache did not show it. */
  isNew?: boolean;
  failure?: Error;
  /** A ReplicaSet of another owner has the name. */
  nameTaken?: boolean;
}

/** Whether all pods have the current template and are available, and no old pods are left. */
export function isComplete({ spec, metadata }: Deployment, status: DeploymentStatus | undefined): boolean {
  const { replicas = 1 } = spec!;
  return (
    (status?.updatedReplicas ?? 0) === replicas &&
    (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas &&
    (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

/** Updates the Progressing condition. `status` has the new counts. */
export function withProgress(
  rollout: Rollout,
  conditions: Conditions,
  status: DeploymentStatus,
  creation: Creation,
  now: number,
): Conditions {
  const { deployment } = rollout;
  if (deadlineOf(deployment) === undefined) return withoutCondition(conditions, PROGRESSING);
  if (deployment.metadata.deletionTimestamp !== undefined) return conditions;
  const begun = withBeginning(rollout, withPause(deployment, conditions, now), creation, now);
  if (deployment.spec?.paused === true || creation.failure !== undefined) return begun;
  return withOutcome(rollout, begun, status, now);
}

/** Milliseconds until the progress deadline; undefined when there is none to wait for. */
export function deadlineInMs(
  deployment: Deployment,
  status: DeploymentStatus,
  now: number,
): number | undefined {
  const seconds = deadlineOf(deployment);
  const condition = findCondition(status.conditions ?? [], PROGRESSING);
  if (seconds === undefined || condition === undefined || isComplete(deployment, status)) return undefined;
  if (condition.reason === TIMED_OUT || condition.reason === AVAILABLE) return undefined;
  return Math.max(0, Date.parse(condition.lastUpdateTime ?? '') + seconds * 1000 - now) + 1000;
}

function deadlineOf({ spec }: Deployment): number | undefined {
  const seconds = spec?.progressDeadlineSeconds;
  return seconds === UNLIMITED ? undefined : seconds;
}

/** A paused Deployment makes no progress on purpose, so the deadline restarts when it is resumed. */
function withPause(deployment: Deployment, conditions: Conditions, now: number): Conditions {
  const reason = findCondition(conditions, PROGRESSING)?.reason;
  const paused = deployment.spec?.paused === true;
  if (reason === TIMED_OUT || paused === (reason === PAUSED)) return conditions;
  const update = paused
    ? { reason: PAUSED, message: 'Deployment is paused' }
    : { reason: 'DeploymentResumed', message: 'Deployment is resumed' };
  return withCondition(conditions, { type: PROGRESSING, status: 'Unknown', ...update }, now);
}

function withBeginning(
  { current }: Rollout,
  conditions: Conditions,
  { isNew, failure }: Creation,
  now: number,
): Conditions {
  const set = (status: string, reason: string, message: string): Conditions =>
    withCondition(conditions, { type: PROGRESSING, status, reason, message }, now);
  if (failure !== undefined) return set('False', 'ReplicaSetCreateError', failure.message);
  if (current === undefined) return conditions;
  const { name } = current.metadata;
  if (isNew === true) return set('True', 'NewReplicaSetCreated', `Created new replica set "${name}"`);
  if (findCondition(conditions, PROGRESSING) !== undefined) return conditions;
  return set('True', 'FoundNewReplicaSet', `Found new replica set "${name}"`);
}

function withOutcome(
  { deployment, current }: Rollout,
  conditions: Conditions,
  status: DeploymentStatus,
  now: number,
): Conditions {
  const before = findCondition(conditions, PROGRESSING);
  // After a successful rollout, pods that fail later are not a failure of the rollout.
  if (before?.reason === AVAILABLE && status.replicas === status.updatedReplicas) return conditions;
  const subject =
    current === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${current.metadata.name}"`;
  const condition = (conditionStatus: string, reason: string, what: string) => ({
    type: PROGRESSING,
    status: conditionStatus,
    reason,
    message: `${subject} ${what}.`,
  });
  if (isComplete(deployment, status)) {
    return withCondition(conditions, condition('True', AVAILABLE, 'has successfully progressed'), now);
  }
  if (hasProgressed(deployment.status ?? {}, status)) {
    return withFreshCondition(conditions, condition('True', 'ReplicaSetUpdated', 'is progressing'), now);
  }
  if (isTimedOut(deployment, conditions, now)) {
    return withCondition(conditions, condition('False', TIMED_OUT, 'has timed out progressing'), now);
  }
  return conditions;
}

function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const count = (status: DeploymentStatus) => {
    const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
    return { updatedReplicas, readyReplicas, availableReplicas, outdated: replicas - updatedReplicas };
  };
  const [old, now] = [count(before), count(after)];
  return (
    now.updatedReplicas > old.updatedReplicas ||
    now.outdated < old.outdated ||
    now.readyReplicas > old.readyReplicas ||
    now.availableReplicas > old.availableReplicas
  );
}

function isTimedOut(deployment: Deployment, conditions: Conditions, now: number): boolean {
  const condition = findCondition(conditions, PROGRESSING);
  if (condition === undefined || condition.reason === AVAILABLE) return false;
  const deadline = Date.parse(condition.lastUpdateTime ?? '') + (deadlineOf(deployment) ?? 0) * 1000;
  return condition.reason === TIMED_OUT || deadline < now;
}
