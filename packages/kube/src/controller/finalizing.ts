import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { Informer } from '../informer/informer.ts';
import { addFinalizer, isBeingDeleted, removeFinalizer } from '../writes/finalizers.ts';
import type { Reconcile, ReconcileResult } from './controller.ts';

/** Options of {@link finalizing}. */
export interface FinalizingOptions<T extends KubeObject> {
  client: KubeClient;
  informer: Pick<Informer<T>, 'cache' | 'resource'>;
  finalizer: string;
  /** Objects for which it returns false are left alone. Default: all. */
  concerns?(object: T): boolean;
  /** Brings what belongs to the object to its desired state. The object has the finalizer. */
  ensure(object: T, signal: AbortSignal): Promise<ReconcileResult | undefined> | Promise<void>;
  /** Removes what belongs to the object with this key. It may be called again, also for a key that is unknown. */
  remove(key: string, signal: AbortSignal): Promise<void>;
}

/**
 * A reconcile function for objects that own something outside of the cluster. A finalizer keeps the object until `remove`
 * has succeeded, so nothing is left behind if the controller does not run when the object is deleted.
 *
 * @example
 * new Controller({ name: 'disks', reconcile: finalizing({ client, informer, finalizer, ensure, remove }) }).watch(informer);
 */
export const finalizing =
  <T extends KubeObject>(options: FinalizingOptions<T>): Reconcile =>
  async (key, signal): Promise<ReconcileResult | undefined> => {
    const { client, informer, finalizer, concerns = () => true, ensure, remove } = options;
    const object = informer.cache.get(key);
    if (object !== undefined && !concerns(object)) return undefined;
    if (object === undefined || isBeingDeleted(object)) {
      await remove(key, signal);
      if (object !== undefined)
        await removeFinalizer(client, informer.resource, object, finalizer, { signal });
      return undefined;
    }
    const owned = await addFinalizer(client, informer.resource, object, finalizer, { signal });
    return (await ensure(owned, signal)) ?? undefined;
  };
