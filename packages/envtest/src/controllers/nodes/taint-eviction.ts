import { isDeepStrictEqual } from 'node:util';
import {
  Controller,
  isForbidden,
  isNotFound,
  keyOf,
  NODES,
  type Node,
  PODS,
  type Pod,
  type ReconcileResult,
} from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { RETRIES } from '../retries.ts';
import { evictingTaints, staysForMs } from './eviction.ts';
import { indexByNode, podsOn } from './pods-by-node.ts';
import { removePod } from './remove-pod.ts';
import type { Uptime } from './uptime.ts';

const NAME = 'taint-eviction-controller';
const REASON = 'TaintManagerEviction';
const CONCURRENCY = 4;
/** How long to wait after the API server has rejected an eviction. */
const REFUSED_MS = 10_000;

/** Deletes pods that do not tolerate the NoExecute taints of their node, or whose tolerationSeconds have passed. */
export const taintEvictionController =
  (uptime: Uptime): MakeController =>
  ({ client, informers, recorderFor, clock, metrics, log }) => {
    const pods = informers.for(PODS);
    const nodes = informers.for(NODES);
    const recorder = recorderFor(NAME);
    /** Pods with a running toleration timer, and when it started. */
    const running = new Map<string, number>();
    const controller = new Controller({
      name: NAME,
      concurrency: CONCURRENCY,
      reconcile,
      queue: RETRIES,
      clock,
      metrics,
      log,
    });
    indexByNode(pods);
    const enqueuePodsOn = (node: Node): void => {
      for (const pod of podsOn(pods.cache, keyOf(node))) controller.enqueue(keyOf(pod));
    };
    nodes.addHandler({
      onAdd: enqueuePodsOn,
      onUpdate: (old, node) => {
        if (!isDeepStrictEqual(evictingTaints(old), evictingTaints(node))) enqueuePodsOn(node);
      },
    });
    return controller.watch(pods).watch(nodes, () => []);

    async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
      const pod = pods.cache.get(key);
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
        running.delete(key);
        return undefined;
      }
      const node = nodes.cache.get(pod.spec?.nodeName ?? '');
      const ms = staysForMs(pod, evictingTaints(node));
      if (ms === undefined) {
        if (running.delete(key)) recorder.normal(pod, REASON, `Cancelling deletion of Pod ${key}`);
        return undefined;
      }
      const remaining = remainingMs(key, ms);
      if (remaining > 0) return { requeueAfter: remaining };
      const isOver = node !== undefined && (await isStillTainted(node, signal));
      return isOver && !(await evict(pod, signal)) ? { requeueAfter: REFUSED_MS } : undefined;
    }

    /** The timer restarts after an outage of the API server, because the node may be about to send a heartbeat. */
    function remainingMs(key: string, ms: number): number {
      const now = clock.monotonic();
      const since = Math.max(running.get(key) ?? now, ms === 0 ? 0 : uptime.since(now));
      running.set(key, since);
      return since + ms - now;
    }

    /** A deletion cannot be undone, so the node is read from the API server. If it differs, its event is on its way. */
    async function isStillTainted(node: Node, signal: AbortSignal): Promise<boolean> {
      try {
        const current = await client.get(NODES, { name: keyOf(node) }, { signal });
        return isDeepStrictEqual(evictingTaints(current), evictingTaints(node));
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    }

    /** False when the API server rejects the deletion, for example for a pod in a disconnected pool. */
    async function evict(pod: Pod, signal: AbortSignal): Promise<boolean> {
      const cause = {
        reason: 'DeletionByTaintManager',
        message: 'Taint manager: deleting due to NoExecute taint',
      };
      try {
        await removePod(client, pod, { cause, force: false, now: clock.now(), signal });
      } catch (error) {
        if (!isForbidden(error)) throw error;
        return false;
      }
      recorder.normal(pod, REASON, `Marking for deletion Pod ${keyOf(pod)}`);
      return true;
    }
  };
