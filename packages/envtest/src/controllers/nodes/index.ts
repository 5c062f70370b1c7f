/**
 * Everything the control plane does about nodes: it assigns address ranges for pods (`ipam.ts`), detects failed
 * nodes (`lifecycle.ts`), evicts their pods (`taint-eviction.ts`), and cleans up after deleted nodes
 * (`pod-collection.ts`).
 *
 * One node that fails:
 *   1. Its Lease is no longer renewed. After the grace period, `lifecycle` sets Ready=Unknown.
 *   2. The taint unreachable:NoSchedule follows, and unreachable:NoExecute if other nodes still send heartbeats.
 *   3. `lifecycle` sets its pods to not ready, so that `endpoints` removes them from Services.
 *   4. `taint-eviction` deletes each pod when its tolerationSeconds have passed, unless the node returns before.
 *   5. When the Node object is deleted, `pod-collection` deletes the pods that are still bound to it.
 *
 * Disconnected pools: an edge site that loses its link must not lose its pods. Two mechanisms prevent that. When no
 * node sends heartbeats, the fault is probably on this side, and no NoExecute taint is set. When all nodes of one
 * pool are unreachable, Tidegate's admission webhook rejects (403) status updates that make their pods not ready or mark
 * them for eviction. `taint-eviction` marks a pod before it deletes it, so the pod stays. Both controllers accept the
 * rejection and try again later.
 *
 * Missing heartbeats count only while the API server responds (`uptime.ts`): its own outage must not cost any pod
 * its node.
 */
import type { MakeController } from '../context.ts';
import { nodeIpamController } from './ipam.ts';
import { nodeLifecycleController } from './lifecycle.ts';
import { podCollectionController } from './pod-collection.ts';
import { taintEvictionController } from './taint-eviction.ts';
import { Uptime, uptimeController } from './uptime.ts';

export interface NodeOptions {
  clusterCidr: string;
  /** How long a node may send no heartbeat and still count as Ready. */
  nodeGraceMs: number;
}

export function nodeControllers({ clusterCidr, nodeGraceMs }: NodeOptions): MakeController[] {
  // An outage of the API server too short to be noticed must be short compared with the grace period.
  const everyMs = nodeGraceMs / 10;
  const uptime = new Uptime(3 * everyMs);
  return [
    uptimeController(uptime, everyMs),
    nodeIpamController(clusterCidr),
    nodeLifecycleController(uptime, nodeGraceMs),
    taintEvictionController(uptime),
    podCollectionController(),
  ];
}
