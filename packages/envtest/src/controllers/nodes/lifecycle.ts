import {
  Controller,
  isForbidden,
  isNotFound,
  keyOf,
  LEASES,
  NODES,
  type Node,
  PODS,
  type Pod,
  type ReconcileResult,
} from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../context.ts';
import { isReady } from '../pods/index.ts';
import { RETRIES } from '../retries.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { timestamp } from '../timestamp.ts';
import { changedTaints, type NodeLossCause, readyOf, unknownConditions } from './conditions.ts';
import { beatOf, Heartbeats } from './heartbeats.ts';
import { LEASE_NAMESPACE, NodeLeases } from './node-leases.ts';
import { indexByNode, podsOn } from './pods-by-node.ts';
import type { Uptime } from './uptime.ts';

const NAME = 'node-controller';
const CONCURRENCY = 4;

/**
 * Watches over nodes. A node that sends no heartbeat for longer than the grace period becomes Ready=Unknown. Taints
 * follow from the conditions; they keep new pods away or evict the existing ones. The pods of an unready node become
 * not ready. A heartbeat costs one reconcile of one node, which only postpones the next check of that node.
 */
export const nodeLifecycleController =
  (uptime: Uptime, graceMs: number): MakeController =>
  (context) => {
    const { client, informers, recorderFor, clock, metrics, log } = context;
    const nodes = informers.for(NODES);
    const leaseInformer = informers.for(LEASES, { namespace: LEASE_NAMESPACE });
    const leases = new NodeLeases(client, leaseInformer);
    const recorder = recorderFor(NAME);
    const heartbeats = new Heartbeats();
    const pods = podMarker(context);
    const controller = new Controller({
      name: NAME,
      concurrency: CONCURRENCY,
      reconcile: untilCacheCatchesUp(reconcile),
      queue: RETRIES,
      clock,
      metrics,
      log,
    });
    return controller.watch(nodes).watch(leaseInformer, ({ metadata }) => [metadata.name ?? '']);

    async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
      const node = nodes.cache.get(name);
      if (node === undefined) {
        heartbeats.forget(name);
        leases.forget(name);
        pods.forget(name);
        return undefined;
      }
      const silence = await silenceOf(name, node, signal);
      const isSilent = silence >= graceMs;
      if (isSilent && readyOf(node)?.status !== 'Unknown') {
        // The watch event of this change triggers the next reconcile, which sets the taints.
        await markUnknown(node, signal);
        return undefined;
      }
      const taints = changedTaints(node, isSilent ? lossCause() : 'unknown', clock.now());
      if (taints !== undefined) {
        const patch = { metadata: { resourceVersion: node.metadata.resourceVersion }, spec: { taints } };
        await client.patch(NODES, { name }, 'merge', patch, { signal });
      }
      await pods.mark(node, signal);
      // For a silent node, check again soon whether other nodes send heartbeats.
      return { requeueAfter: isSilent ? graceMs / 4 : graceMs - silence };
    }

    /**
     * Milliseconds since the last heartbeat. Before a node counts as silent, its Lease is read from the API server,
     * in case the cache is behind.
     */
    async function silenceOf(name: string, node: Node, signal: AbortSignal): Promise<number> {
      const silence = observedSilence(name, node);
      if (silence < graceMs) return silence;
      await leases.refresh(name, signal);
      return observedSilence(name, node);
    }

    function observedSilence(name: string, node: Node): number {
      const now = clock.monotonic();
      heartbeats.observe(name, beatOf(node, leases.of(name)), now);
      return heartbeats.silence(name, now, uptime.since(now));
    }

    /** When all nodes fell silent at the same time, the nodes are probably not the problem. */
    function lossCause(): NodeLossCause {
      return heartbeats.silenceOfAll(clock.monotonic()) < graceMs / 2 ? 'node' : 'cluster';
    }

    async function markUnknown(node: Node, signal: AbortSignal): Promise<void> {
      const { name = '', resourceVersion } = node.metadata;
      const conditions = unknownConditions(node, clock.now());
      const patch = { metadata: { resourceVersion }, status: { conditions } };
      await client.patch(NODES, { name, subresource: 'status' }, 'strategic', patch, { signal });
      recorder.normal(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    }
  };

/** Sets the pods of an unready node to not ready. */
function podMarker({ client, informers, recorderFor, clock }: ControllerContext) {
  const pods = informers.for(PODS);
  indexByNode(pods);
  const recorder = recorderFor(NAME);
  /**
   * By node, the transition for which its pods were marked. Each transition is handled once: if the kubelet reports
   * a pod ready afterwards, the kubelet is right.
   */
  const marked = new Map<string, string | undefined>();

  /** False when the API server rejects the change, for example for a pod in a disconnected pool. */
  async function markPod(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { namespace, name = '', uid } = pod.metadata;
    const condition = { type: 'Ready', status: 'False', lastTransitionTime: timestamp(clock.now()) };
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    try {
      await client.patch(PODS, { namespace, name, subresource: 'status' }, 'strategic', patch, { signal });
      recorder.warning(pod, 'NodeNotReady', 'Node is not ready');
    } catch (error) {
      if (isForbidden(error)) return false;
      if (!isNotFound(error)) throw error;
    }
    return true;
  }

  return {
    async mark(node: Node, signal: AbortSignal): Promise<void> {
      const name = keyOf(node);
      const ready = readyOf(node);
      if (ready === undefined || ready.status === 'True') {
        marked.delete(name);
        return;
      }
      if (marked.has(name) && marked.get(name) === ready.lastTransitionTime) return;
      const outcomes = await Promise.all(
        podsOn(pods.cache, name)
          .filter(isReady)
          .map((pod) => markPod(pod, signal)),
      );
      // A rejected change is tried again at the next reconcile.
      if (outcomes.every((done) => done)) marked.set(name, ready.lastTransitionTime);
    },
    forget: (name: string): void => void marked.delete(name),
  };
}
