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
import { nodeGroupStatus, nodePoolStatus, type PoolSummary } from './pool-status.ts';

/** The differences between the two kinds of pool, for the controller that they share. */
export interface PoolKindTraits<P extends KubeObject> {
  readonly kind: PoolKind;
  readonly resource: Resource<P>;
  readonly finalizer: string;
  factsOf(pool: P): PoolFacts;
  /** The nodes of the pool according to its status. */
  membersOf(pool: P): readonly string[];
  conditionsOf(pool: P): readonly Condition[];
  statusOf(
    pool: P,
    summary: PoolSummary,
    now: number,
  ): Record<string, unknown> & { conditions?: Condition[] };
}

export const NODE_POOL_TRAITS: PoolKindTraits<NodePool> = {
  kind: 'NodePool',
  resource: NODE_POOLS,
  finalizer: NODE_POOL_FINALIZER,
  factsOf: nodePoolFacts,
  membersOf: (pool) => pool.status?.nodes ?? [],
  conditionsOf: (pool) => pool.status?.conditions ?? [],
  statusOf: (pool, summary, now) => nodePoolStatus(pool.status, summary, now),
};

export const NODE_GROUP_TRAITS: PoolKindTraits<NodeGroup> = {
  kind: 'NodeGroup',
  resource: NODE_GROUPS,
  finalizer: NODE_GROUP_FINALIZER,
  factsOf: nodeGroupFacts,
  membersOf: (group) => group.status?.containedNodes ?? [],
  conditionsOf: (group) => group.status?.conditions ?? [],
  statusOf: (group, summary, now) => nodeGroupStatus(group.status, summary, now),
};
