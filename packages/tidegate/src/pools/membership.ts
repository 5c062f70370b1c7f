import { isDeepStrictEqual } from 'node:util';
import { type Node, SetsByKey } from '@tidegate/kube';
import type { NodeGroup, NodePool, PoolKind } from '../api/index.ts';
import { NodesByLabel, PoolCandidates } from './candidates.ts';
import { nodeFacts, nodeGroupFacts, nodePoolFacts, type PoolFacts } from './facts.ts';
import { decideOwner, NOBODY, type Outcome } from './owner.ts';

/** An object as it is now; undefined when it is gone. */
export type Change =
  | { type: 'Node'; name: string; object: Node | undefined }
  | { type: 'NodePool'; name: string; object: NodePool | undefined }
  | { type: 'NodeGroup'; name: string; object: NodeGroup | undefined };

export type MembershipChange =
  | OfPool<'appeared'>
  | OfPool<'vanished'>
  /** From nowhere, or to nowhere, when that side is absent. */
  | { type: 'moved'; kind: PoolKind; node: string; from?: string; to?: string }
  /** The pool wants the node and does not get it. */
  | OfClaim<'refused'>
  /** No longer so. */
  | OfClaim<'settled'>;
type OfPool<Type> = { type: Type; kind: PoolKind; pool: string };
type OfClaim<Type> = OfPool<Type> & { node: string };

export type Subscriber = (change: MembershipChange) => void;

/**
 * Which node is in which pool, of both kinds, and always up to date: the one source of truth. A function of the
 * objects alone: neither the order in which they came nor what was before them matters.
 */
export class Membership {
  readonly #nodes = new NodesByLabel();
  readonly #kinds: Readonly<Record<PoolKind, KindMembership>> = {
    NodePool: new KindMembership('NodePool', this.#nodes),
    NodeGroup: new KindMembership('NodeGroup', this.#nodes),
  };
  readonly #subscribers = new Set<Subscriber>();

  poolOf(kind: PoolKind, node: string): string | undefined {
    return this.#kinds[kind].outcomeOf(node).owner;
  }

  nodesOf(kind: PoolKind, pool: string): ReadonlySet<string> {
    return this.#kinds[kind].members.get(pool);
  }

  hasPool(kind: PoolKind, pool: string): boolean {
    return this.#kinds[kind].pools.get(pool) !== undefined;
  }

  hasNode(node: string): boolean {
    return this.#nodes.get(node) !== undefined;
  }

  /** Nodes that the pool wants and does not get. */
  refusedTo(kind: PoolKind, pool: string): ReadonlySet<string> {
    return this.#kinds[kind].refused.get(pool);
  }

  /** All pools that want the node, also those that do not get it. */
  claimantsOf(kind: PoolKind, node: string): string[] {
    const { owner, refused } = this.#kinds[kind].outcomeOf(node);
    return owner === undefined ? [] : [owner, ...refused];
  }

  /** Told of every change, in order, after all of it can be asked for. Returns how to end that. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  apply(change: Change): void {
    const changes = this.#apply(change);
    for (const subscriber of [...this.#subscribers]) {
      for (const one of changes) subscriber(one);
    }
  }

  #apply(change: Change): MembershipChange[] {
    const { type, name, object } = change;
    switch (type) {
      case 'Node':
        return this.#setNode(name, object);
      case 'NodePool':
        return this.#kinds.NodePool.setPool(name, object && nodePoolFacts(object));
      case 'NodeGroup':
        return this.#kinds.NodeGroup.setPool(name, object && nodeGroupFacts(object));
    }
  }

  #setNode(name: string, object: Node | undefined): MembershipChange[] {
    const facts = object && nodeFacts(object);
    // Nodes change all the time; what matters here hardly ever does.
    if (isDeepStrictEqual(facts, this.#nodes.get(name))) return [];
    this.#nodes.set(name, facts);
    return [...this.#kinds.NodePool.decide(name), ...this.#kinds.NodeGroup.decide(name)];
  }
}

class KindMembership {
  readonly pools: PoolCandidates;
  readonly members = new SetsByKey();
  readonly refused = new SetsByKey();
  readonly #kind: PoolKind;
  readonly #nodes: NodesByLabel;
  readonly #outcomes = new Map<string, Outcome>();

  constructor(kind: PoolKind, nodes: NodesByLabel) {
    this.#kind = kind;
    this.#nodes = nodes;
    this.pools = new PoolCandidates(kind);
  }

  outcomeOf(node: string): Outcome {
    return this.#outcomes.get(node) ?? NOBODY;
  }

  setPool(name: string, pool: PoolFacts | undefined): MembershipChange[] {
    const old = this.pools.get(name);
    const affected = new Set<string>();
    for (const state of [old, pool]) {
      if (state === undefined) continue;
      for (const node of this.pools.nodesFor(state, this.#nodes)) affected.add(node);
    }
    this.pools.set(name, pool);
    const kind = this.#kind;
    const decided = [...affected].flatMap((node) => this.decide(node));
    if (old === undefined && pool !== undefined) return [{ type: 'appeared', kind, pool: name }, ...decided];
    if (old !== undefined && pool === undefined) return [...decided, { type: 'vanished', kind, pool: name }];
    return decided;
  }

  /** Decides anew where a node belongs; says what is different. */
  decide(name: string): MembershipChange[] {
    const node = this.#nodes.get(name);
    const old = this.outcomeOf(name);
    const outcome =
      node === undefined
        ? NOBODY
        : decideOwner(
            this.#kind,
            node,
            this.pools.poolsFor(node),
            (pool) => this.pools.get(pool) !== undefined,
          );
    if (outcome === NOBODY) this.#outcomes.delete(name);
    else this.#outcomes.set(name, outcome);
    return this.#record(name, old, outcome);
  }

  #record(node: string, old: Outcome, outcome: Outcome): MembershipChange[] {
    const kind = this.#kind;
    const changes: MembershipChange[] = [];
    if (old.owner !== outcome.owner) {
      if (old.owner !== undefined) this.members.delete(old.owner, node);
      if (outcome.owner !== undefined) this.members.add(outcome.owner, node);
      changes.push({
        type: 'moved',
        kind,
        node,
        ...(old.owner !== undefined && { from: old.owner }),
        ...(outcome.owner !== undefined && { to: outcome.owner }),
      });
    }
    for (const pool of old.refused) {
      if (outcome.refused.includes(pool)) continue;
      this.refused.delete(pool, node);
      changes.push({ type: 'settled', kind, node, pool });
    }
    for (const pool of outcome.refused) {
      if (old.refused.includes(pool)) continue;
      this.refused.add(pool, node);
      changes.push({ type: 'refused', kind, node, pool });
    }
    return changes;
  }
}
