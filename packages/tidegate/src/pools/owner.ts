import type { PoolKind } from '../api/index.ts';
import { desiredPool, type NodeFacts, POOL_LABELS, type PoolFacts } from './facts.ts';

export interface Outcome {
  /** The pool that the node is in. */
  readonly owner?: string;
  /** Pools that want the node too and do not get it, oldest first. */
  readonly refused: readonly string[];
}

export const NOBODY: Outcome = { refused: [] };

/**
 * Who gets the node, among the pools that may want it (those that do not are passed over):
 * the one that its `desired-nodepool` names; else the one that holds it and still wants it; else the oldest.
 * `exists` tells whether there is a pool of this name at all.
 */
export function decideOwner(
  kind: PoolKind,
  node: NodeFacts,
  candidates: Iterable<PoolFacts>,
  exists: (pool: string) => boolean,
): Outcome {
  const desired = desiredPool(kind, node);
  const waiting = desired !== undefined && !exists(desired);
  const claimants = [...candidates].filter((pool) => wants(kind, pool, node, waiting)).toSorted(byAge);
  const holder = node.labels[POOL_LABELS[kind]];
  const owner =
    claimants.find(({ name }) => name === desired) ??
    claimants.find(({ name }) => name === holder) ??
    claimants[0];
  if (owner === undefined) return NOBODY;
  return { owner: owner.name, refused: claimants.filter((pool) => pool !== owner).map(({ name }) => name) };
}

/** Oldest first; of two made in the same second, by name. */
export const byAge = (a: PoolFacts, b: PoolFacts): number =>
  compare(a.createdAt, b.createdAt) || compare(a.name, b.name);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function wants(kind: PoolKind, pool: PoolFacts, node: NodeFacts, waiting: boolean): boolean {
  const holds = node.labels[POOL_LABELS[kind]] === pool.name;
  // A group that goes lets its nodes go. A NodePool can not go before they have left; it takes no new ones.
  if (pool.deleting && (kind === 'NodeGroup' || !holds)) return false;
  if (pool.nodes.has(node.name) || pool.selector?.matches(node.labels) === true) return true;
  if (kind === 'NodeGroup') return false;
  if (desiredPool(kind, node) === pool.name) return true;
  // A person's label is a claim of its own. Ours rests on what we wrote it for, but while the node waits for a pool
  // that does not exist yet, it stays where it is: a slip of the pen moves no pods.
  return holds && (!node.wroteNodePool || waiting);
}
