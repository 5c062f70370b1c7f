import type { PoolKind } from '../api/index.ts';
import { desiredPool, type NodeFacts, POOL_LABELS, type PoolFacts } from './facts.ts';

export interface OwnerDecision {
  /** The pool that owns the node. */
  readonly owner?: string;
  /** Other pools that select the node, oldest first. */
  readonly refused: readonly string[];
}

export const NO_OWNER: OwnerDecision = { refused: [] };

/**
 * Chooses the owner of a node among the pools that select it. In this order: the pool in the label `desired-nodepool`,
 * the current owner if it still selects the node, the oldest pool. Candidates that do not select the node are ignored.
 * `exists` returns whether a pool with this name exists.
 */
export function decideOwner(
  kind: PoolKind,
  node: NodeFacts,
  candidates: Iterable<PoolFacts>,
  exists: (pool: string) => boolean,
): OwnerDecision {
  const desired = desiredPool(kind, node);
  const waiting = desired !== undefined && !exists(desired);
  const claimants = [...candidates].filter((pool) => selects(kind, pool, node, waiting)).toSorted(byAge);
  const holder = node.labels[POOL_LABELS[kind]];
  const owner =
    claimants.find(({ name }) => name === desired) ??
    claimants.find(({ name }) => name === holder) ??
    claimants[0];
  if (owner === undefined) return NO_OWNER;
  return { owner: owner.name, refused: claimants.filter((pool) => pool !== owner).map(({ name }) => name) };
}

/** Oldest first, and by name if they were created in the same second. */
export const byAge = (a: PoolFacts, b: PoolFacts): number =>
  compare(a.createdAt, b.createdAt) || compare(a.name, b.name);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function selects(kind: PoolKind, pool: PoolFacts, node: NodeFacts, waiting: boolean): boolean {
  const holds = node.labels[POOL_LABELS[kind]] === pool.name;
  // A NodeGroup that is being deleted releases its nodes. A NodePool cannot be removed before its nodes have left, so it
  // keeps them and accepts no new ones.
  if (pool.deleting && (kind === 'NodeGroup' || !holds)) return false;
  if (pool.nodes.has(node.name) || pool.selector?.matches(node.labels) === true) return true;
  if (kind === 'NodeGroup') return false;
  if (desiredPool(kind, node) === pool.name) return true;
  // A label that a user wrote is sufficient. A label that Tidegate wrote is valid only while its reason exists. If the
  // requested pool does not exist, the node stays where it is, so that a typo in the label does not move pods.
  return holds && (!node.wroteNodePool || waiting);
}
