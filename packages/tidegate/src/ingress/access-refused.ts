import {
  type Clock,
  ConnectionError,
  type Informers,
  isForbidden,
  isServerUnavailable,
  type KubeClient,
  type KubeObject,
  type Resource,
  sleep,
  systemClock,
} from '@tidegate/kube';

const RETRY_MS = 2_000;

/**
 * Whether the API server refuses to list the objects. An informer that is refused never syncs, and tries again for ever: so
 * a namespace that grants nothing gets none. While the API server is unreachable, there is no answer, so it is asked again.
 */
export async function isAccessRefused<T extends KubeObject>(
  { client, informers, clock = systemClock }: { client: KubeClient; informers: Informers; clock?: Clock },
  resource: Resource<T>,
  select: { namespace: string; fieldSelector?: string },
): Promise<boolean> {
  for (;;) {
    try {
      await client.list(resource, { ...select, limit: 1 });
      return false;
    } catch (error) {
      if (isForbidden(error)) return true;
      // The informer reports other errors, and tries again.
      if (!isServerUnavailable(error) && !(error instanceof ConnectionError)) return false;
    }
    const { signal } = informers;
    await sleep(clock, RETRY_MS, signal).catch(() => {}); // Rejects only when aborted; then the loop ends.
    if (signal?.aborted) return false;
  }
}
