/**
 * What the cluster does about its nodes: addresses for their pods (ipam), noticing that one is lost (lifecycle), and
 * moving its pods away (taint eviction) or clearing up after it (pod collection). One lost node through it:
 *   its Lease is renewed no more; after the grace period `lifecycle` sets Ready=Unknown
 *   -> the taint unreachable:NoSchedule follows, and NoExecute if other nodes are still heard
 *   -> its pods become unready, so that endpoints leave them out
 *   -> `taint-eviction` deletes each pod when its tolerationSeconds are over, or not, if the node is heard again
 *   -> somebody deletes the Node: `pod-collection` deletes what is still bound to it.
 * Silence counts only while the API server answers us (`Uptime`): an outage of its own costs no pod its place.
 */
import type { MakeController } from '../context.ts';
import { nodeIpamController } from './ipam.ts';
import { nodeLifecycleController } from './lifecycle.ts';
import { podCollectionController } from './pod-collection.ts';
import { taintEvictionController } from './taint-eviction.ts';
import { Uptime, uptimeController } from './uptime.ts';

export interface NodeOptions {
  clusterCidr: string;
  /** How long a node may be silent. */
  nodeGraceMs: number;
}

export function nodeControllers({ clusterCidr, nodeGraceMs }: NodeOptions): MakeController[] {
  // An outage that is too short to be noticed must be short beside the grace period.
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
