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
import { timestamp } from '../workloads/timestamp.ts';
import { changedTaints, readyOf, unknownConditions, type Verdict } from './conditions.ts';
import { beatOf, Heartbeats } from './heartbeats.ts';
import { LEASE_NAMESPACE, NodeLeases } from './node-leases.ts';
import { indexByNode, podsOn } from './pods-by-node.ts';
import type { Uptime } from './uptime.ts';

const NAME = 'node-controller';
const CONCURRENCY = 4;

/**
 * Watches over nodes. One that is silent for longer than the grace period becomes Ready=Unknown; taints follow from
 * the conditions, and keep pods away or have them evicted; the pods of an unready node are not ready either. A
 * heartbeat costs one look at one node: it is what the next look at that node is put off by.
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
      const silence = await listenWell(name, node, signal);
      const isSilent = silence >= graceMs;
      if (isSilent && readyOf(node)?.status !== 'Unknown') {
        // The change comes back to us, and the taints follow.
        await reportSilence(node, signal);
        return undefined;
      }
      const taints = changedTaints(node, isSilent ? verdict() : 'unclear', clock.now());
      if (taints !== undefined) {
        const patch = { metadata: { resourceVersion: node.metadata.resourceVersion }, spec: { taints } };
        await client.patch(NODES, { name }, 'merge', patch, { signal });
      }
      await pods.mark(node, signal);
      // Of a silent node we ask again whether the others are heard.
      return { requeueAfter: isSilent ? graceMs / 4 : graceMs - silence };
    }

    /** Nobody is called silent before the API server has been asked itself. */
    async function listenWell(name: string, node: Node, signal: AbortSignal): Promise<number> {
      const silence = listen(name, node);
      if (silence < graceMs) return silence;
      await leases.ask(name, signal);
      return listen(name, node);
    }

    function listen(name: string, node: Node): number {
      const now = clock.monotonic();
      heartbeats.observe(name, beatOf(node, leases.of(name)), now);
      return heartbeats.silence(name, now, uptime.since(now));
    }

    /** When everybody fell silent at once, it is not the nodes that are lost. */
    function verdict(): Verdict {
      return heartbeats.silenceOfAll(clock.monotonic()) < graceMs / 2 ? 'lost' : 'spared';
    }

    async function reportSilence(node: Node, signal: AbortSignal): Promise<void> {
      const { name = '', resourceVersion } = node.metadata;
      const conditions = unknownConditions(node, clock.now());
      const patch = { metadata: { resourceVersion }, status: { conditions } };
      await client.patch(NODES, { name, subresource: 'status' }, 'strategic', patch, { signal });
      recorder.normal(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    }
  };

/** Takes the readiness from the pods of a node that is not ready. */
function podMarker({ client, informers, recorderFor, clock }: ControllerContext) {
  const pods = informers.for(PODS);
  indexByNode(pods);
  const recorder = recorderFor(NAME);
  /** The transition for which the pods of a node were marked; a kubelet that then reports otherwise is right. */
  const marked = new Map<string, string | undefined>();

  /** False: somebody who knows more than we do has it stay as it is. */
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
      // What is not allowed now may be at the next look.
      if (outcomes.every((done) => done)) marked.set(name, ready.lastTransitionTime);
    },
    forget: (name: string): void => void marked.delete(name),
  };
}
