import {
  Controller,
  isNotFound,
  type KubeClient,
  keyOf,
  NODES,
  type Node,
  PODS,
  type Pod,
  type ReconcileResult,
} from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { isTerminating } from '../pods/index.ts';
import { RETRIES } from '../retries.ts';
import { isFinished } from '../scheduler/cluster.ts';
import { readyOf } from './conditions.ts';
import { indexByNode, podsOn } from './pods-by-node.ts';
import { removePod } from './remove-pod.ts';

const NAME = 'pod-garbage-collector';
/** Keys are names of nodes, and this one for the pods that have ended. No node has such a name. */
const FINISHED = '*';
const MOST_FINISHED = 12_500;
/** A pod may be seen before its node. */
const QUARANTINE_MS = 5_000;
const CAUSE = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' };

/**
 * Deletes the pods that nobody else will: those of a node that does not exist any more, those that have to end on a
 * node that is out of service, and the oldest of very many that have ended.
 */
export const podCollectionController =
  (mostFinished = MOST_FINISHED): MakeController =>
  ({ client, informers, clock, metrics, log }) => {
    const pods = informers.for(PODS);
    const nodes = informers.for(NODES);
    /** Nodes that pods name and nobody knows, and since when. */
    const missing = new Map<string, number>();
    indexByNode(pods);
    const controller = new Controller({ name: NAME, reconcile, queue: RETRIES, clock, metrics, log });
    return controller.watch(nodes, keysOfNode).watch(pods, keysOfPod);

    /** Heartbeats of nodes that are there concern nobody here. */
    function keysOfNode({ metadata: { name = '' } }: Node): string[] {
      const node = nodes.cache.get(name);
      return node === undefined || isOutOfService(node) ? [name] : [];
    }

    function keysOfPod(pod: Pod): string[] {
      const { spec } = pod;
      if (isFinished(pod) && pods.cache.size > mostFinished) return [FINISHED];
      if (!spec?.nodeName) return [];
      const node = nodes.cache.get(spec.nodeName);
      if (node === undefined) return [spec.nodeName];
      return isTerminating(pod) && isOutOfService(node) ? [spec.nodeName] : [];
    }

    async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
      const force = { force: true, now: clock.now(), signal };
      if (key === FINISHED) {
        for (const pod of surplus(pods.cache.list(), mostFinished)) await removePod(client, pod, force);
        return undefined;
      }
      const node = nodes.cache.get(key);
      const bound = podsOn(pods.cache, key);
      if (node !== undefined || bound.length === 0) missing.delete(key);
      if (node !== undefined && isOutOfService(node)) {
        for (const pod of bound.filter(isTerminating)) await removePod(client, pod, force);
      }
      if (node !== undefined || bound.length === 0) return undefined;
      const remaining = quarantine(key);
      if (remaining > 0) return { requeueAfter: remaining };
      if (await exists(client, key, signal)) return undefined;
      for (const pod of bound) await removePod(client, pod, { ...force, cause: CAUSE });
      return undefined;
    }

    function quarantine(name: string): number {
      const now = clock.monotonic();
      const since = missing.get(name) ?? now;
      missing.set(name, since);
      return since + QUARANTINE_MS - now;
    }
  };

/** The cache may be behind, and there is no way back from this: ask the server itself. */
async function exists(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.get(NODES, { name }, { signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Somebody has said that the node will not come back, and it does not contradict. */
const isOutOfService = (node: Node): boolean =>
  readyOf(node)?.status !== 'True' &&
  (node.spec?.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');

/** The oldest of those that have ended, as many as there are too many. */
export function surplus(pods: readonly Pod[], most: number): Pod[] {
  const finished = pods.filter(isFinished);
  if (finished.length <= most) return [];
  const age = (pod: Pod): string => `${pod.metadata.creationTimestamp ?? ''} ${keyOf(pod)}`;
  return finished.toSorted((a, b) => (age(a) < age(b) ? -1 : 1)).slice(0, finished.length - most);
}
