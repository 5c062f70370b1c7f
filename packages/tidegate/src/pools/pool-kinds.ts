import type { Condition, KubeObject, Resource } from '@tidegate/kube';
import {
  NODE_GROUP_FINALIZER,
  NODE_GROUPS,
  NODE_POOL_FINALIZER,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
  type PoolKind,
} from '../api/index.ts';
import { nodeGroupFacts, nodePoolFacts, type PoolFacts } from './facts.ts';
import { nodeGroupStatus, nodePoolStatus, type PoolView } from './pool-status.ts';

/** In what the two kinds of pool differ, for the one controller that both have. */
export interface PoolKindTraits<P extends KubeObject> {
  readonly kind: PoolKind;
  readonly resource: Resource<P>;
  readonly finalizer: string;
  factsOf(pool: P): PoolFacts;
  /** The nodes that the status says the pool has. */
  membersOf(pool: P): readonly string[];
  conditionsOf(pool: P): readonly Condition[];
  statusOf(pool: P, view: PoolView, now: number): Record<string, unknown> & { conditions?: Condition[] };
}

export const NODE_POOL_TRAITS: PoolKindTraits<NodePool> = {
  kind: 'NodePool',
  resource: NODE_POOLS,
  finalizer: NODE_POOL_FINALIZER,
  factsOf: nodePoolFacts,
  membersOf: (pool) => pool.status?.nodes ?? [],
  conditionsOf: (pool) => pool.status?.conditions ?? [],
  statusOf: (pool, view, now) => nodePoolStatus(pool.status, view, now),
};

export const NODE_GROUP_TRAITS: PoolKindTraits<NodeGroup> = {
  kind: 'NodeGroup',
  resource: NODE_GROUPS,
  finalizer: NODE_GROUP_FINALIZER,
  factsOf: nodeGroupFacts,
  membersOf: (group) => group.status?.containedNodes ?? [],
  conditionsOf: (group) => group.status?.conditions ?? [],
  statusOf: (group, view, now) => nodeGroupStatus(group.status, view, now),
};
