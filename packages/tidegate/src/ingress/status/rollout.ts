/** Whether the workload of a router is as it was asked for, and if not, what its pods say. Pure. */

import { type Deployment, isBeingDeleted, type Pod } from '@tidegate/kube';
import { availabilityOf } from '../../apps/index.ts';

export interface Rollout {
  readonly done: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Words of kubelets for what does not pass until somebody does something. */
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

/** Reasons of an L7Router not to be ready that somebody must do something about. The others take a while. */
export const isFailure = (reason: string): boolean =>
  POD_FAILURES.has(reason) || ['NotProvisioned', 'ReplicaFailure', 'PodFailed'].includes(reason);

export function rolloutOf(deployment: Deployment | undefined, pods: readonly Pod[]): Rollout {
  if (deployment === undefined) {
    return { done: false, reason: 'Creating', message: 'its Deployment is about to be made' };
  }
  const { available, reason, message } = availabilityOf(deployment);
  if (available) return { done: true, reason: 'RolledOut', message };
  const trouble = replicaFailure(deployment) ?? worstOf(pods);
  return trouble === undefined
    ? { done: false, reason, message }
    : { done: false, reason: trouble.reason, message: `${message}; ${trouble.message}` };
}

type Trouble = Pick<Rollout, 'reason' | 'message'>;

/** No pod could be made, as by a quota. */
function replicaFailure({ status }: Deployment): Trouble | undefined {
  const failure = status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  return failure && { reason: 'ReplicaFailure', message: `${failure.message}` };
}

/** What fails is told before what waits. */
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
    const why = [pod.status?.reason, message].filter(Boolean).join(': ') || 'it has failed';
    return { reason: 'PodFailed', message: `${name}: ${why}` };
  }
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const { reason, message } = status.state?.waiting ?? {};
    if (reason === undefined) continue;
    const told = [message, endOf(status.lastState?.terminated)].filter(Boolean).join('; ');
    return { reason, message: `${name}, container ${status.name}: ${told || reason}` };
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

/** How it ended the last time. */
const endOf = (end: Terminated): string | undefined =>
  end &&
  [`it ended with code ${end.exitCode}`, end.reason === 'Error' ? '' : end.reason, end.message?.trim()]
    .filter(Boolean)
    .join(', ');
