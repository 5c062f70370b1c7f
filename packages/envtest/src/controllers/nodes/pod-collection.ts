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
/** The keys are node names, and this one for finished pods. It is not a valid node name. */
const FINISHED = '*';
const MAX_FINISHED = 12_500;
/** A pod may be seen before its node. */
const QUARANTINE_MS = 5_000;
const CAUSE = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' };

/**
 * Deletes pods that no other controller deletes: pods of nodes that no longer exist, terminating pods on nodes that
 * are out of service, and the oldest finished pods when there are very many.
 */
export const podCollectionController =
  (maxFinished = MAX_FINISHED): MakeController =>
  ({ client, informers, clock, metrics, log }) => {
    const pods = informers.for(PODS);
    const nodes = informers.for(NODES);
    /** Names of nodes that pods refer to but that do not exist, and since when. */
    const missing = new Map<string, number>();
    indexByNode(pods);
    const controller = new Controller({ name: NAME, reconcile, queue: RETRIES, clock, metrics, log });
    return controller.watch(nodes, keysOfNode).watch(pods, keysOfPod);

    /** Heartbeats of existing nodes do not matter here. */
    function keysOfNode({ metadata: { name = '' } }: Node): string[] {
      const node = nodes.cache.get(name);
      return node === undefined || isOutOfService(node) ? [name] : [];
    }

    function keysOfPod(pod: Pod): string[] {
      const { spec } = pod;
      if (isFinished(pod) && pods.cache.size > maxFinished) return [FINISHED];
      if (!spec?.nodeName) return [];
      const node = nodes.cache.get(spec.nodeName);
      if (node === undefined) return [spec.nodeName];
      return isTerminating(pod) && isOutOfService(node) ? [spec.nodeName] : [];
    }

    async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
      const force = { force: true, now: clock.now(), signal };
      if (key === FINISHED) {
        for (const pod of surplus(pods.cache.list(), maxFinished)) await removePod(client, pod, force);
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

/** The cache may be behind, and the deletion cannot be undone, so the API server is asked. */
async function exists(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.get(NODES, { name }, { signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** The user has declared with a taint that the node will not return, and the node is in fact not ready. */
const isOutOfService = (node: Node): boolean =>
  readyOf(node)?.status !== 'True' &&
  (node.spec?.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');

/** The oldest finished pods above the limit. */
export function surplus(pods: readonly Pod[], limit: number): Pod[] {
  const finished = pods.filter(isFinished);
  if (finished.length <= limit) return [];
  const age = (pod: Pod): string => `${pod.metadata.creationTimestamp ?? ''} ${keyOf(pod)}`;
  return finished.toSorted((a, b) => (age(a) < age(b) ? -1 : 1)).slice(0, finished.length - limit);
}
