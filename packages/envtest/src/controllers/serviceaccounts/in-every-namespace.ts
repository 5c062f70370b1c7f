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

export interface InEveryNamespace<T extends KubeObject> {
  /** Of the controller. */
  name: string;
  resource: Resource<T>;
  /** The name of the object; its namespace is filled in. */
  objectName: string;
  make(): T;
  /** The object as it should be, or the same one when nothing is wrong with it. */
  repair(current: T): T;
}

/** Keeps one object of the same name in every namespace. The keys are the namespaces' names. */
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
      // Somebody made it, or it is gone again: the event about it is on its way.
      if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
    }
    return undefined;
  });
  return new Controller({ name, reconcile, concurrency: 5, clock, metrics, log })
    .watch(namespaces)
    .watch(objects, ({ metadata }) => [metadata.namespace ?? '']);
}
