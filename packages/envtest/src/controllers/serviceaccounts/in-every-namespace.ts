import {
  Controller,
  isAlreadyExists,
  isBeingDeleted,
  isNamespaceTerminating,
  isNotFound,
  type KubeObject,
  NAMESPACES,
  type Resource,
} from '@tidegate/kube';
import type { ControllerContext } from '../context.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';

/** An object that every namespace must have. */
export interface InEveryNamespace<T extends KubeObject> {
  /** The name of the controller. */
  name: string;
  resource: Resource<T>;
  /** The name of the object. Its namespace is filled in. */
  objectName: string;
  make(): T;
  /** The object as it should be; returns `current` itself when nothing needs to change. */
  repair(current: T): T;
}

/** Keeps an object of the same name in every namespace. The keys are the names of namespaces. */
export function inEveryNamespace<T extends KubeObject>(
  { client, informers, clock, metrics, log }: ControllerContext,
  { name, resource, objectName, make, repair }: InEveryNamespace<T>,
): Controller {
  const namespaces = informers.for(NAMESPACES);
  const objects = informers.for(resource, { fieldSelector: `metadata.name=${objectName}` });
  const reconcile = untilCacheCatchesUp(async (namespace, signal) => {
    const owner = namespaces.cache.get(namespace);
    if (owner === undefined || isBeingDeleted(owner)) return undefined;
    const current = objects.cache.get(`${namespace}/${objectName}`);
    try {
      if (current === undefined) await client.create(resource, make(), { namespace, signal });
      else if (repair(current) !== current) await client.update(resource, repair(current), { signal });
    } catch (error) {
      // Another client created it, or the namespace is being deleted. The event for that is on its way.
      if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
    }
    return undefined;
  });
  return new Controller({ name, reconcile, concurrency: 5, clock, metrics, log })
    .watch(namespaces)
    .watch(objects, ({ metadata }) => [metadata.namespace ?? '']);
}
