import { isDeepStrictEqual } from 'node:util';
import { Controller, NODES, type Node, PODS, type Pod, type ReconcileResult } from '@tidegate/kube';
import type { PoolsContext } from './context.ts';
import { evict } from './evict.ts';
import { isMisplaced } from './misplaced.ts';

const PODS_BY_NODE = 'pools/nodeName';
const nodeOf = ({ spec }: Pod): readonly string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

/** A disruption budget does not say when it will allow more. */
const BLOCKED_RETRY_MS = 10_000;

/**
 * Removes the pods that are on a node whose pool they are not for, node by node. Apart from the node controller, so
 * that a pod which may not go yet holds up no label.
 */
export function evictionController(context: PoolsContext): Controller {
  const { client, informers, recorder } = context;
  const nodes = informers.for(NODES);
  const pods = informers.for(PODS);
  pods.addIndex(PODS_BY_NODE, nodeOf);

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const node = nodes.cache.get(name);
    const suspects = node === undefined ? [] : misplacedOn(node, pods.cache.byIndex(PODS_BY_NODE, name));
    if (suspects.length === 0) return;
    // The caches of pods and of nodes do not advance together: a pod may have come for a label we have not seen yet.
    const misplaced = misplacedOn(await client.get(NODES, { name }, { signal }), suspects);
    const blocked = await Promise.all(misplaced.map((pod) => remove(pod, name, signal)));
    return blocked.includes(true) ? { requeueAfter: BLOCKED_RETRY_MS } : undefined;
  }

  /** Says whether the pod must stay for now. */
  async function remove(pod: Pod, node: string, signal: AbortSignal): Promise<boolean> {
    const result = await evict(client, pod, signal);
    if (result === 'evicted') {
      recorder.normal(pod, 'LeftPool', `evicted: node ${node} is no longer in the pool that this pod is for`);
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
