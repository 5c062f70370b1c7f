import { isNotFound, type KubeClient, PODS, type Pod } from '@tidegate/kube';
import { isFinished } from '../scheduler/cluster.ts';
import { timestamp } from '../workloads/timestamp.ts';

export interface Removal {
  /** For the condition DisruptionTarget: it was not the pod's own doing. */
  cause?: { reason: string; message: string };
  /** Nobody is there to end the containers, and nobody will be: the pod is gone at once. */
  force: boolean;
  now: number;
  signal: AbortSignal;
}

/** Deletes this very pod, not one that was made under the same name since. It says before why it has to go. */
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
