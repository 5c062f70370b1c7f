import { setMaxListeners } from 'node:events';
import { type Clock, EventRecorder, Informers, type KubeObject, orAborted } from '@tidegate/kube';
import { EDGE_APPLICATION_NAMESPACE_LABEL, INGRESS_FIELD_MANAGER } from '../api/index.ts';
import { followMembership, type PoolsContext } from '../pools/index.ts';
import { MANAGER } from './names.ts';
import type { ManagerOptions } from './options.ts';
import type { Waiting } from './waiting.ts';

/**
 * Runs `use` with new caches, which follow the pool membership. Stops the informers last, because the other parts read their
 * caches until they end.
 */
export async function withCaches(
  options: ManagerOptions & { clock: Clock },
  waiting: Waiting,
  signal: AbortSignal,
  use: (context: PoolsContext) => Promise<void>,
): Promise<void> {
  const { client, clock, log, metrics } = options;
  const informers = new Informers(client, { transform: withoutManagedFields, clock, log });
  const { membership, synced } = followMembership(informers);
  const recorder = new EventRecorder(client, { component: MANAGER, instance: options.identity, clock, log });
  const caches = new AbortController();
  setMaxListeners(0, caches.signal);
  const following = informers.run(caches.signal);
  try {
    const trouble = (): unknown => informers.unsynced().find((each) => each.trouble !== undefined)?.trouble;
    await waiting.during('list nodes and pools', orAborted(synced, signal), trouble);
    await use({ client, informers, membership, recorder, metrics, log, clock });
  } finally {
    caches.abort();
    await following;
    await recorder.close();
  }
}

/**
 * Removes managed fields from cached objects to save memory: they are often half of an object. Objects of applications
 * keep them, because they show that Tidegate created the object. Ingresses keep the entries of Tidegate, which show
 * whether it wrote the address in the status.
 */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields = [], ...metadata } = object.metadata;
  if (metadata.labels?.[EDGE_APPLICATION_NAMESPACE_LABEL] !== undefined) return object;
  const ours = object.kind === 'Ingress' ? managedFields.filter(isOfIngress) : [];
  return { ...object, metadata: ours.length === 0 ? metadata : { ...metadata, managedFields: ours } };
}

const isOfIngress = ({ manager }: { manager?: string }): boolean => manager === INGRESS_FIELD_MANAGER;
