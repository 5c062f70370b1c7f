import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { CallOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';

/** Whether the object waits for this finalizer when it is deleted. */
export const hasFinalizer = (object: KubeObject, finalizer: string): boolean =>
  object.metadata.finalizers?.includes(finalizer) ?? false;

/** An object that is being deleted accepts no new finalizers. */
export const isBeingDeleted = (object: KubeObject): boolean =>
  object.metadata.deletionTimestamp !== undefined;

/** Adds the finalizer and returns the updated object. Throws a conflict if the object has changed since it was read. */
export async function addFinalizer<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  finalizer: string,
  options: CallOptions = {},
): Promise<T> {
  if (hasFinalizer(object, finalizer)) return object;
  return setFinalizers(client, resource, object, [...(object.metadata.finalizers ?? []), finalizer], options);
}

/**
 * Removes the finalizer. Call it only after the clean-up is known to be complete: the object may disappear
 * immediately.
 */
export async function removeFinalizer<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  finalizer: string,
  options: CallOptions = {},
): Promise<T> {
  if (!hasFinalizer(object, finalizer)) return object;
  const rest = object.metadata.finalizers!.filter((f) => f !== finalizer);
  return setFinalizers(client, resource, object, rest, options);
}

/**
 * A merge patch replaces the whole list, so the resourceVersion guards against losing finalizers of other
 * controllers.
 */
function setFinalizers<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { metadata }: T,
  finalizers: string[],
  options: CallOptions,
): Promise<T> {
  const { name = '', namespace, resourceVersion, uid } = metadata;
  const patch = { metadata: { finalizers, resourceVersion, uid } };
  return client.patch(resource, { name, namespace }, 'merge', patch, options);
}
