import {
  DeadlineError,
  isConflict,
  isNotFound,
  isTooManyRequests,
  type KubeClient,
  PODS,
  type Pod,
} from '@tidegate/kube';

/** A budget that is used up answers at once, and to come back in ten seconds: the client would wait for that. */
const PATIENCE_MS = 3_000;

export type Eviction = 'evicted' | 'gone' | 'blocked';

/** Asks for the pod to go, as its disruption budget allows: `blocked` means to ask again later. */
export async function evict(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<Eviction> {
  const { name, namespace, uid } = pod.metadata;
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    // Not another pod that has taken its name since.
    deleteOptions: { preconditions: { uid } },
  };
  try {
    await client.create(PODS, eviction, { subresource: 'eviction', deadlineMs: PATIENCE_MS, signal });
    return 'evicted';
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return 'gone';
    if (isTooManyRequests(error) || error instanceof DeadlineError) return 'blocked';
    throw error;
  }
}
