import {
  ApiStatusError,
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

/** The versions of the request. Kubernetes 1.22 was the first with v1. */
const VERSIONS = ['policy/v1', 'policy/v1beta1'] as const;

/** Evicts the pod through the eviction API. `blocked` means that its disruption budget does not allow it yet. */
export async function evict(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<Eviction> {
  try {
    await request(client, pod, VERSIONS[0], signal).catch((error: unknown) => {
      if (!isUnknownVersion(error)) throw error;
      return request(client, pod, VERSIONS[1], signal);
    });
    return 'evicted';
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return 'gone';
    if (isTooManyRequests(error) || error instanceof DeadlineError) return 'blocked';
    throw error;
  }
}

function request(client: KubeClient, pod: Pod, apiVersion: string, signal: AbortSignal): Promise<unknown> {
  const { name, namespace, uid } = pod.metadata;
  const eviction = {
    apiVersion,
    kind: 'Eviction',
    metadata: { name, namespace },
    // Do not evict a new pod that has the same name.
    deleteOptions: { preconditions: { uid } },
  };
  return client.create(PODS, eviction, { subresource: 'eviction', deadlineMs: EVICTION_DEADLINE_MS, signal });
}

const isUnknownVersion = (error: unknown): boolean =>
  error instanceof ApiStatusError && error.message.includes('no kind "Eviction" is registered for version');
