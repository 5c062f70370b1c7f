import { isDeepStrictEqual } from 'node:util';
import type { KubeClient, KubeObject, Resource } from '@tidegate/kube';

/**
 * Writes the status if it differs from the current one; undefined fields are removed. Returns the resulting object.
 * Fails with a conflict when the object has changed since it was read, because the status was computed from what was
 * read with it.
 */
export async function writeStatus<T extends KubeObject & { status?: object }>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  status: NonNullable<T['status']>,
  signal: AbortSignal,
): Promise<T> {
  const wanted: unknown = JSON.parse(JSON.stringify(status));
  if (isDeepStrictEqual(wanted, object.status ?? {})) return object;
  return client.update(resource, { ...object, status }, { subresource: 'status', signal });
}
