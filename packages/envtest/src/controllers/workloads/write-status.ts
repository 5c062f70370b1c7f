import { isDeepStrictEqual } from 'node:util';
import type { KubeClient, KubeObject, Resource } from '@tidegate/kube';

/**
 * Writes the status if it says anything new; what is undefined in it is removed. Returns the object as it is after
 * that. Fails with a conflict when the object has changed since it was read: a status counts what was seen with it.
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
