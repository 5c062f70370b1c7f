/** What a fresh API server holds before anybody has written anything. */
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { type Core, keyOf, type WriteOptions } from './operations/core.ts';
import { createObject } from './operations/create.ts';

const NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** A cluster's controllers make one in every namespace; without them there are still these to run pods as. */
const account = (namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'default', namespace },
});

/** Creates what is missing; what somebody has changed or added is left alone. */
export async function bootstrap(core: Core, options: WriteOptions, policy: KubeObject[]): Promise<void> {
  await Promise.all(NAMESPACES.map((name) => ensureObject(core, options, namespace(name))));
  await Promise.all(NAMESPACES.map((name) => ensureObject(core, options, account(name))));
  await Promise.all(policy.map((object) => ensureObject(core, options, object)));
}

/** Creates the object unless there is one of its name. */
export async function ensureObject(core: Core, options: WriteOptions, object: KubeObject): Promise<void> {
  const [first = '', second] = object.apiVersion.split('/');
  const definition = core.registry.byKind(second === undefined ? '' : first, object.kind);
  const served = definition && core.registry.byStorage(definition.storage);
  if (served === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  const namespace = object.metadata.namespace ?? '';
  if (core.store.get(keyOf(served.definition, namespace, object.metadata.name ?? '')) !== undefined) return;
  try {
    served.definition.strategy.defaults?.(object);
    await createObject(core, { served, object, namespace, options });
  } catch (error) {
    if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
  }
}
