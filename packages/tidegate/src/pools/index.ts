/**
 * Pools: named sets of nodes, each at one site. This folder owns the assignment of nodes to pools (`Membership`), the
 * labels, annotations and taints that nodes get from their pools, and the status of pools.
 *
 * Walk: a user changes the label of a node, so that it moves from one site to another.
 *
 * 1. The node informer passes the node to follow-membership.ts. `Membership` decides the owner again with owner.ts, for
 *    this node only. candidates.ts finds the pools that may select the node.
 * 2. Membership publishes a `moved` change to its subscribers: the node controller, and the controllers of both kinds
 *    of pool.
 * 3. The node controller writes one patch with all labels, annotations and taints that change. desired-attributes.ts
 *    reads them from the pools, and node-plan.ts compares them with the node. attribute-record.ts records what was
 *    written, so that it can be removed later.
 * 4. The eviction controller sees the new labels, finds the pods that no longer fit the node (misplaced-pods.ts), and
 *    evicts them.
 * 5. The pool controllers update the status of the two pools and record events. No other object in the cluster is read.
 *
 * autonomy.ts decides how long the pods of an unreachable site are kept, and reachability.ts whether a site is unreachable.
 */
import type { Controller } from '@tidegate/kube';
import type { PoolsContext } from './context.ts';
import { evictionController } from './eviction-controller.ts';
import { nodeController } from './node-controller.ts';
import { poolController } from './pool-controller.ts';
import { NODE_GROUP_TRAITS, NODE_POOL_TRAITS } from './pool-kinds.ts';

export type { PoolsContext } from './context.ts';
export { followMembership } from './follow-membership.ts';
export { Membership } from './membership.ts';
export { nameList } from './name-list.ts';
export { type AddressRanges, parseAddressRanges, plainAddress } from './node-addresses.ts';
export { isFreeNode } from './outside-pools.ts';
export { type ReachabilitySources, unreachablePoolOf } from './reachability.ts';
export { validateDelete } from './validate-delete.ts';

/** All controllers of this folder. Their watches are attached, but they do not run yet. */
export const poolControllers = (context: PoolsContext): Controller[] => [
  nodeController(context),
  evictionController(context),
  poolController(NODE_POOL_TRAITS, context),
  poolController(NODE_GROUP_TRAITS, context),
];
