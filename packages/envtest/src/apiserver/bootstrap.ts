/** The objects of a new API server. */
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { type Core, keyOf, type WriteOptions } from './operations/core.ts';
import { createObject } from './operations/create.ts';
import { SYSTEM_CLASSES } from './resources/pod/priority.ts';

const NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** Controllers create a default account in every namespace. These make pods possible without them. */
const account = (namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'default', namespace },
});

/** Creates missing objects. Objects that exist are left unchanged. */
export async function bootstrap(core: Core, options: WriteOptions, policy: KubeObject[]): Promise<void> {
  await Promise.all(NAMESPACES.map((name) => ensureObject(core, options, namespace(name))));
  await Promise.all(NAMESPACES.map((name) => ensureObject(core, options, account(name))));
  await Promise.all(SYSTEM_CLASSES.map((object) => ensureObject(core, options, structuredClone(object))));
  await Promise.all(policy.map((object) => ensureObject(core, options, object)));
}

/** Creates the object unless an object with the same name exists. */
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
