import { isDeepStrictEqual } from 'node:util';
import { Controller, NODES, type Node, PODS, type Pod, type ReconcileResult } from '@tidegate/kube';
import type { PoolsContext } from './context.ts';
import { evict } from './evict.ts';
import { fitsOutsidePools, isMisplaced } from './misplaced-pods.ts';
import { isFreeNode } from './outside-pools.ts';

const PODS_BY_NODE = 'pools/nodeName';
const FREE_NODES = 'pools/free';
const FREE = 'true';
const nodeOf = ({ spec }: Pod): readonly string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

/** A disruption budget does not report when it will allow the next eviction. */
const BLOCKED_RETRY_MS = 10_000;

/**
 * Evicts pods from nodes that left the pool of these pods. It is separate from the node controller, so that a pod that
 * cannot be evicted yet does not delay labels.
 *
 * A pod that must be outside of pools stays while all nodes are in pools: it could run nowhere else. Among such pods is the
 * manager that runs this controller. If it evicted itself, no node could leave its pool again.
 */
export function evictionController(context: PoolsContext): Controller {
  const { client, informers, recorder } = context;
  const nodes = informers.for(NODES);
  const pods = informers.for(PODS);
  pods.addIndex(PODS_BY_NODE, nodeOf);
  nodes.addIndex(FREE_NODES, (node) => (isFreeNode(node) ? [FREE] : []));
  /** Nodes with pods that stay until a node is free. */
  const waiting = new Set<string>();

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const node = nodes.cache.get(name);
    const candidates = node === undefined ? [] : misplacedOn(node, pods.cache.byIndex(PODS_BY_NODE, name));
    waiting.delete(name);
    if (candidates.length === 0) return;
    // The caches of pods and nodes are not in step: a pod may have been scheduled by a label that the node cache does not
    // have yet. Read the node from the API server before evicting anything.
    const misplaced = misplacedOn(await client.get(NODES, { name }, { signal }), candidates);
    const hasPlace = nodes.cache.byIndex(FREE_NODES, FREE).length > 0;
    const [evicted, staying] = partition(misplaced, (pod) => hasPlace || !fitsOutsidePools(pod));
    if (staying.length > 0) waiting.add(name);
    const blocked = await Promise.all(evicted.map((pod) => remove(pod, name, signal)));
    return blocked.includes(true) ? { requeueAfter: BLOCKED_RETRY_MS } : undefined;
  }

  /** Resolves to true if the eviction is blocked for now. */
  async function remove(pod: Pod, node: string, signal: AbortSignal): Promise<boolean> {
    const result = await evict(client, pod, signal);
    if (result === 'evicted') {
      recorder.normal(
        pod,
        'LeftPool',
        `Evicted because node ${node} is in another pool than this pod allows`,
      );
    }
    return result === 'blocked';
  }

  return new Controller({ ...context, name: 'pool-evictions', reconcile, concurrency: 4 })
    .watch(
      nodes,
      (node) => [`${node.metadata.name}`, ...(isFreeNode(node) ? waiting : [])],
      (old, node) =>
        !isDeepStrictEqual(old.metadata.labels, node.metadata.labels) || isFreeNode(old) !== isFreeNode(node),
    )
    .watch(pods, (pod) =>
      nodeOf(pod).filter((name) => {
        const node = nodes.cache.get(name);
        return node !== undefined && misplacedOn(node, [pod]).length > 0;
      }),
    );
}

const misplacedOn = ({ metadata }: Node, pods: readonly Pod[]): Pod[] =>
  pods.filter((pod) => isMisplaced(pod, metadata.labels ?? {}));

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
