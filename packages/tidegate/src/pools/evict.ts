import {
  DeadlineError,
  isConflict,
  isNotFound,
  isTooManyRequests,
  type KubeClient,
  PODS,
  type Pod,
} from '@tidegate/kube';

/** If the disruption budget is exhausted, the API server asks to retry after ten seconds. The client would wait that long. */
const EVICTION_DEADLINE_MS = 3_000;

export type Eviction = 'evicted' | 'gone' | 'blocked';

/** Evicts the pod through the eviction API. `blocked` means that its disruption budget does not allow it yet. */
export async function evict(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<Eviction> {
  const { name, namespace, uid } = pod.metadata;
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    // Do not evict a new pod that has the same name.
    deleteOptions: { preconditions: { uid } },
  };
  try {
    await client.create(PODS, eviction, {
      subresource: 'eviction',
      deadlineMs: EVICTION_DEADLINE_MS,
      signal,
    });
    return 'evicted';
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return 'gone';
    if (isTooManyRequests(error) || error instanceof DeadlineError) return 'blocked';
    throw error;
  }
}
