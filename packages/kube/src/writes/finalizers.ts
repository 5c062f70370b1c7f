import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { CallOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';

export const hasFinalizer = (object: KubeObject, finalizer: string): boolean =>
  object.metadata.finalizers?.includes(finalizer) ?? false;

/** An object on its way out takes no new finalizers. */
export const isBeingDeleted = (object: KubeObject): boolean =>
  object.metadata.deletionTimestamp !== undefined;

/** Adds the finalizer and returns the object with it. Conflicts if the object has changed since it was read. */
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

/** Removes the finalizer: call it only after the clean-up was seen to be done. The object may be gone after that. */
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

/** A list is patched as a whole, so the resourceVersion must guard what others put into it meanwhile. */
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
