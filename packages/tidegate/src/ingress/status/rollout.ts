/** Whether the Deployment of a router is rolled out, and if not, why. Pure. */

import { type Deployment, isBeingDeleted, type Pod } from '@tidegate/kube';
import { availabilityOf } from '../../apps/index.ts';

/** Becomes the condition RolledOut of the L7Router. */
export interface Rollout {
  readonly done: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Waiting reasons of the kubelet that usually do not resolve without a change by a user. */
const POD_FAILURES: ReadonlySet<string> = new Set([
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
]);

/** Whether a user must act on this reason. Other reasons resolve after a while. */
export const isFailure = (reason: string): boolean =>
  POD_FAILURES.has(reason) || ['NotProvisioned', 'ReplicaFailure', 'PodFailed'].includes(reason);

/** The reason comes from the Deployment, or from the pod with the worst problem. */
export function rolloutOf(deployment: Deployment | undefined, pods: readonly Pod[]): Rollout {
  if (deployment === undefined) {
    return { done: false, reason: 'Creating', message: 'The Deployment has not been created yet' };
  }
  const { available, reason, message } = availabilityOf(deployment);
  if (available) return { done: true, reason: 'RolledOut', message };
  const trouble = replicaFailure(deployment) ?? worstOf(pods);
  return trouble === undefined
    ? { done: false, reason, message }
    : { done: false, reason: trouble.reason, message: `${message}; ${trouble.message}` };
}

type Trouble = Pick<Rollout, 'reason' | 'message'>;

/** The ReplicaSet cannot create pods, for example because of a quota. */
function replicaFailure({ status }: Deployment): Trouble | undefined {
  const failure = status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  return failure && { reason: 'ReplicaFailure', message: `${failure.message}` };
}

/** Failures come before pods that are only waiting. */
function worstOf(pods: readonly Pod[]): Trouble | undefined {
  const troubles = pods.filter((pod) => !isBeingDeleted(pod)).flatMap((pod) => troubleOf(pod) ?? []);
  return troubles.find(({ reason }) => isFailure(reason)) ?? troubles[0];
}

function troubleOf(pod: Pod): Trouble | undefined {
  const {
    phase,
    message,
    initContainerStatuses = [],
    containerStatuses = [],
    conditions = [],
  } = pod.status ?? {};
  const name = `pod ${pod.metadata.name}`;
  if (phase === 'Failed') {
    const why = [pod.status?.reason, message].filter(Boolean).join(': ') || 'the pod failed';
    return { reason: 'PodFailed', message: `${name}: ${why}` };
  }
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const { reason, message } = status.state?.waiting ?? {};
    if (reason === undefined) continue;
    const detail = [message, endOf(status.lastState?.terminated)].filter(Boolean).join('; ');
    return { reason, message: `${name}, container ${status.name}: ${detail || reason}` };
  }
  const unscheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return (
    unscheduled && {
      reason: unscheduled.reason || 'Unschedulable',
      message: `${name}: ${unscheduled.message}`,
    }
  );
}

type Terminated = NonNullable<
  NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]['lastState']
>['terminated'];

/** How the container ended last time. */
const endOf = (end: Terminated): string | undefined =>
  end &&
  [`last exit code ${end.exitCode}`, end.reason === 'Error' ? '' : end.reason, end.message?.trim()]
    .filter(Boolean)
    .join(', ');
