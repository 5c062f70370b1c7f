/**
 * Removes Tidegate. The order matters: webhooks first, because they refuse to delete pools with nodes, and would block
 * changes without a manager; then the custom resources, while the controllers can still clean up; then the manager; then what
 * is left, without waiting for finalizers that no controller would remove any more.
 */
import {
  type Clock,
  isNotFound,
  type KubeClient,
  NAMESPACES,
  NODES,
  PODS,
  removeFinalizer,
  sleep,
} from '@tidegate/kube';
import {
  DESIRED_NODE_POOL_LABEL,
  EDGE_APPLICATION_FINALIZER,
  NODE_GROUP_FINALIZER,
  NODE_POOL_FINALIZER,
  NODE_POOL_LABEL,
  OPENYURT_YURT_INGRESS_FINALIZER,
  ROUTER_FINALIZER,
  ROUTER_LABEL,
  YURT_INGRESS_FINALIZER,
} from '../api/index.ts';
import { deleteNamed, servedAs } from './apply-plan.ts';
import { INVENTORY_NAME, type Inventory, type ObjectName, textOf, writeInventory } from './inventory.ts';
import { customObjects } from './losses.ts';
import { PART_OF_SELECTOR, WEBHOOK_CONFIGURATION } from './ready.ts';
import { hasStopped } from './stopped.ts';

export interface RemoveOptions {
  namespace: string;
  /** In the order of creation. */
  objects: readonly ObjectName[];
  /** What `tidegate install` has recorded. */
  inventory: Inventory | undefined;
  keepCrds: boolean;
  /** How long controllers get to clean up. */
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  onStep(text: string): void;
  onNote(text: string): void;
}

const POLL_MS = 300;

export async function removeAll(client: KubeClient, options: RemoveOptions): Promise<void> {
  const { objects, namespace, inventory, keepCrds, signal, onStep } = options;
  // Recorded first, so that other commands can say why objects are missing if this one is interrupted.
  if (inventory !== undefined && !inventory.isBeingRemoved)
    await writeInventory(client, { ...inventory, isBeingRemoved: true }, signal);
  const isKind = (kind: string) => (name: ObjectName) => name.kind === kind;
  onStep('deleting the webhook configurations');
  for (const kind of ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'])
    await deleteNamed(
      client,
      { apiVersion: 'admissionregistration.k8s.io/v1', kind, name: WEBHOOK_CONFIGURATION },
      signal,
    );
  if (!keepCrds) await deleteCustomObjects(client, options);
  onStep('stopping the manager');
  for (const name of objects.filter(isKind('Deployment'))) await deleteNamed(client, name, signal);
  await untilStopped(client, options);
  await releaseFinalizers(client, options);
  if (!keepCrds) await deleteRouters(client, options);
  const kept = new Set(['Namespace', 'Deployment', ...(keepCrds ? ['CustomResourceDefinition'] : [])]);
  for (const name of objects.filter(({ kind }) => !kept.has(kind)).toReversed()) {
    onStep(`deleting ${textOf(name)}`);
    await deleteNamed(client, name, signal);
  }
  const deleted = await deleteNamespaces(client, options);
  // The record is deleted last, with its namespace or alone, so that a removal that was interrupted can be continued.
  await deleteNamed(client, { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: INVENTORY_NAME }, signal);
  await untilGone(client, deleted, options);
}

/** The controllers do the work as long as they run. */
async function deleteCustomObjects(
  client: KubeClient,
  { clock, timeoutMs, signal, onStep, onNote }: RemoveOptions,
): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  for (const { resource, kind, objects } of await customObjects(client, signal)) {
    if (objects.length === 0) continue;
    if (resource.resource === 'nodepools') await emptyPools(client, signal, onStep);
    onStep(`deleting ${objects.length} ${kind}`);
    for (const { metadata } of objects)
      await ignoreNotFound(
        client.delete(resource, { name: metadata.name ?? '', namespace: metadata.namespace }, { signal }),
      );
    // Routers are created again for Ingresses while the manager runs, so their number does not have to reach zero.
    if (resource.resource === 'l7routers') continue;
    while ((await client.list(resource, { signal })).items.length > 0) {
      if (clock.now() > deadline) {
        onNote(
          `${kind}: the manager has not cleaned up after ${timeoutMs / 1000} s, so it does not run or lacks permissions. Its finalizers are removed; look for leftovers with tidegate check --pre`,
        );
        break;
      }
      await sleep(clock, POLL_MS, signal);
    }
  }
}

/** A pool with nodes is not deleted. The manager takes back what it has written to nodes that leave their pool. */
async function emptyPools(
  client: KubeClient,
  signal: AbortSignal,
  onStep: RemoveOptions['onStep'],
): Promise<void> {
  const labels = [NODE_POOL_LABEL, DESIRED_NODE_POOL_LABEL];
  const { items } = await client.list(NODES, { signal });
  for (const { metadata } of items) {
    if (!labels.some((label) => metadata.labels?.[label] !== undefined)) continue;
    onStep(`removing node ${metadata.name} from its pool`);
    const patch = { metadata: { labels: Object.fromEntries(labels.map((label) => [label, null])) } };
    await ignoreNotFound(client.patch(NODES, { name: metadata.name ?? '' }, 'merge', patch, { signal }));
  }
}

/** A manager that still runs would set finalizers again. A pod on a lost node does not end; it cannot write either. */
async function untilStopped(
  client: KubeClient,
  { namespace, clock, timeoutMs, signal, onStep }: RemoveOptions,
): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  for (let last = ''; clock.now() <= deadline; ) {
    const { items } = await client.list(PODS, { namespace, labelSelector: PART_OF_SELECTOR, signal });
    const left = items.filter((pod) => !hasStopped(pod));
    if (left.length === 0) return;
    const text = `waiting for the end of ${left.map(({ metadata }) => `pod ${metadata.name}`).join(', ')}`;
    if (text !== last) onStep(text);
    last = text;
    await sleep(clock, POLL_MS, signal);
  }
}

const FINALIZERS = [
  NODE_POOL_FINALIZER,
  NODE_GROUP_FINALIZER,
  EDGE_APPLICATION_FINALIZER,
  ROUTER_FINALIZER,
  YURT_INGRESS_FINALIZER,
  OPENYURT_YURT_INGRESS_FINALIZER,
];

/** Without a manager, no controller removes its finalizers, and objects could never be deleted. Others remove their own. */
async function releaseFinalizers(
  client: KubeClient,
  { keepCrds, signal, onNote }: RemoveOptions,
): Promise<void> {
  for (const { resource, kind, objects } of await customObjects(client, signal))
    for (const object of objects) {
      const target = { name: object.metadata.name ?? '', namespace: object.metadata.namespace };
      let released = object;
      await ignoreNotFound(
        (async () => {
          for (const finalizer of FINALIZERS)
            released = await removeFinalizer(client, resource, released, finalizer, { signal });
        })(),
      );
      if (keepCrds) continue;
      const { finalizers = [] } = released.metadata;
      if (finalizers.length > 0)
        onNote(`${kind} ${target.name} waits for finalizers of other programs: ${finalizers.join(', ')}`);
      await ignoreNotFound(client.delete(resource, target, { signal }));
    }
}

/** The kinds that routers consist of. */
const ROUTER_KINDS: readonly Pick<ObjectName, 'apiVersion' | 'kind'>[] = [
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'v1', kind: 'Service' },
  { apiVersion: 'v1', kind: 'ServiceAccount' },
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' },
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
];

async function deleteRouters(client: KubeClient, { signal, onStep }: RemoveOptions): Promise<void> {
  for (const { apiVersion, kind } of ROUTER_KINDS) {
    const resource = await servedAs(client, { apiVersion, kind });
    if (resource === undefined) continue;
    for (const { metadata } of (await client.list(resource, { labelSelector: ROUTER_LABEL, signal })).items) {
      const target = { name: metadata.name ?? '', namespace: metadata.namespace };
      onStep(`deleting ${textOf({ apiVersion, kind, ...target })}`);
      await ignoreNotFound(client.delete(resource, target, { propagationPolicy: 'Background', signal }));
    }
  }
}

/**
 * Only namespaces that the installation has created, and not if routers stay in them. That of the manager is the last one.
 * Returns the names.
 */
async function deleteNamespaces(client: KubeClient, options: RemoveOptions): Promise<string[]> {
  const { namespace, objects, inventory, keepCrds, signal, onStep, onNote } = options;
  const deleted: string[] = [];
  const isOwn = ({ name }: ObjectName): number => Number(name === namespace);
  const all = objects.filter(({ kind }) => kind === 'Namespace').toSorted((a, b) => isOwn(a) - isOwn(b));
  for (const { name, apiVersion, kind } of all) {
    if (keepCrds && name !== namespace) continue;
    if (!inventory?.createdNamespaces.includes(name)) {
      onNote(
        `namespace ${name} is kept: it existed before the installation, or is not known to be part of it`,
      );
      continue;
    }
    onStep(`deleting Namespace ${name}`);
    await deleteNamed(client, { apiVersion, kind, name }, signal);
    deleted.push(name);
  }
  return deleted;
}

/** Until then, another installation could not create its objects. */
async function untilGone(
  client: KubeClient,
  names: readonly string[],
  { clock, timeoutMs, signal, onStep, onNote }: RemoveOptions,
): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  for (let last = ''; ; await sleep(clock, POLL_MS, signal)) {
    const { items } = await client.list(NAMESPACES, { signal });
    const left = items.map(({ metadata }) => metadata.name ?? '').filter((name) => names.includes(name));
    if (left.length === 0) return;
    const text = `namespaces that are still being deleted: ${left.join(', ')}`;
    if (clock.now() > deadline) {
      onNote(`${text}. Look at their conditions: kubectl get namespace ${left[0]} -o yaml`);
      return;
    }
    if (text !== last) onStep(`waiting for ${text}`);
    last = text;
  }
}

async function ignoreNotFound(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
