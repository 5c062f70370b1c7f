import { isDeepStrictEqual } from 'node:util';
import { Controller, NODES, type Node, PODS, type Pod, type ReconcileResult } from '@tidegate/kube';
import type { PoolsContext } from './context.ts';
import { evict } from './evict.ts';
import { isMisplaced } from './misplaced-pods.ts';

const PODS_BY_NODE = 'pools/nodeName';
const nodeOf = ({ spec }: Pod): readonly string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

/** A disruption budget does not report when it will allow the next eviction. */
const BLOCKED_RETRY_MS = 10_000;

/**
 * Evicts pods from nodes that left the pool of these pods. It is separate from the node controller, so that a pod that
 * cannot be evicted yet does not delay labels.
 */
export function evictionController(context: PoolsContext): Controller {
  const { client, informers, recorder } = context;
  const nodes = informers.for(NODES);
  const pods = informers.for(PODS);
  pods.addIndex(PODS_BY_NODE, nodeOf);

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const node = nodes.cache.get(name);
    const candidates = node === undefined ? [] : misplacedOn(node, pods.cache.byIndex(PODS_BY_NODE, name));
    if (candidates.length === 0) return;
    // The caches of pods and nodes are not in step: a pod may have been scheduled by a label that the node cache does not
    // have yet. Read the node from the API server before evicting anything.
    const misplaced = misplacedOn(await client.get(NODES, { name }, { signal }), candidates);
    const blocked = await Promise.all(misplaced.map((pod) => remove(pod, name, signal)));
    return blocked.includes(true) ? { requeueAfter: BLOCKED_RETRY_MS } : undefined;
  }

  /** Resolves to true if the eviction is blocked for now. */
  async function remove(pod: Pod, node: string, signal: AbortSignal): Promise<boolean> {
    const result = await evict(client, pod, signal);
    if (result === 'evicted') {
      recorder.normal(pod, 'LeftPool', `Evicted because node ${node} is no longer in the pool of this pod`);
    }
    return result === 'blocked';
  }

  return new Controller({ ...context, name: 'pool-evictions', reconcile, concurrency: 4 })
    .watch(nodes, undefined, (old, node) => !isDeepStrictEqual(old.metadata.labels, node.metadata.labels))
    .watch(pods, (pod) =>
      nodeOf(pod).filter((name) => {
        const node = nodes.cache.get(name);
        return node !== undefined && misplacedOn(node, [pod]).length > 0;
      }),
    );
}

const misplacedOn = ({ metadata }: Node, pods: readonly Pod[]): Pod[] =>
  pods.filter((pod) => isMisplaced(pod, metadata.labels ?? {}));
