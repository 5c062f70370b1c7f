import { isForbidden, type KubeClient, type KubeObject, type Resource } from '@tidegate/kube';

/**
 * Whether the API server refuses to list the objects. An informer that is refused never syncs, and tries again for ever: so
 * a namespace that grants nothing gets none.
 */
export async function isAccessRefused<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  select: { namespace: string; fieldSelector: string },
): Promise<boolean> {
  try {
    await client.list(resource, { ...select, limit: 1 });
    return false;
  } catch (error) {
    // The informer reports other errors, and tries again.
    return isForbidden(error);
  }
}
