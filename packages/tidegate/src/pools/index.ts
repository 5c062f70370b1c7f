/**
 * Pools: named sets of nodes, each at one site. This folder owns who is in which (`Membership`), what nodes get from
 * their pools, and what the pools tell about their nodes.
 *
 * A node is relabelled from one site to another:
 *   the informer hands it to followMembership -> Membership decides anew by owner.ts, for this node only
 *   -> `moved` reaches every subscriber: the node controller, the controllers of both pools, whoever filters by scope
 *   -> the node controller writes one patch with all that changes on the node (wanted.ts, node-plan.ts)
 *   -> by the new labels the eviction controller finds the pods that are misplaced now, and has them go
 *   -> the pool controllers write status and events of the two pools, and nothing else in the cluster is looked at.
 */
import type { Controller } from '@tidegate/kube';
import type { PoolsContext } from './context.ts';
import { evictionController } from './eviction-controller.ts';
import { nodeController } from './node-controller.ts';
import { poolController } from './pool-controller.ts';
import { NODE_GROUP_TRAITS, NODE_POOL_TRAITS } from './pool-kinds.ts';

export type { PoolsContext } from './context.ts';
export { followMembership } from './follow.ts';
export { Membership } from './membership.ts';
export { poolOutOfReach, type ReachSources } from './reach.ts';
export { validateDelete } from './validate-delete.ts';

/** All controllers of pools, their watches attached and not yet running. */
export const poolControllers = (context: PoolsContext): Controller[] => [
  nodeController(context),
  evictionController(context),
  poolController(NODE_POOL_TRAITS, context),
  poolController(NODE_GROUP_TRAITS, context),
];
