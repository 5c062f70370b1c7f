import { isNotFound, type KubeClient, PODS, type Pod } from '@tidegate/kube';
import { isFinished } from '../scheduler/cluster.ts';
import { timestamp } from '../timestamp.ts';

/** Why and how to delete a pod. */
export interface Removal {
  /** For the condition DisruptionTarget, which marks a disruption that the pod did not cause. */
  cause?: { reason: string; message: string };
  /** No kubelet is left to stop the containers, so the pod is removed without a grace period. */
  force: boolean;
  now: number;
  signal: AbortSignal;
}

/** Deletes exactly this pod, not a new pod of the same name. Records the cause in the pod's status first. */
export async function removePod(client: KubeClient, pod: Pod, removal: Removal): Promise<void> {
  const { force, signal } = removal;
  const { namespace, name = '', uid } = pod.metadata;
  const status = lastStatus(pod, removal);
  try {
    if (Object.keys(status).length > 0) {
      const target = { namespace, name, subresource: 'status' };
      await client.patch(PODS, target, 'strategic', { metadata: { uid }, status }, { signal });
    }
    const grace = force ? { gracePeriodSeconds: 0 } : {};
    await client.delete(PODS, { namespace, name }, { ...grace, preconditions: { uid }, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function lastStatus(pod: Pod, { cause, force, now }: Removal): object {
  if (isFinished(pod)) return {};
  const phase = force ? { phase: 'Failed' } : {};
  if (cause === undefined) return phase;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    ...cause,
    lastTransitionTime: timestamp(now),
    observedGeneration: pod.metadata.generation,
  };
  return { ...phase, conditions: [condition] };
}
