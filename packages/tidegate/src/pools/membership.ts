import { isDeepStrictEqual } from 'node:util';
import { type Node, SetsByKey } from '@tidegate/kube';
import type { NodeGroup, NodePool, PoolKind } from '../api/index.ts';
import { NodesByLabel, PoolCandidates } from './candidates.ts';
import { nodeFacts, nodeGroupFacts, nodePoolFacts, type PoolFacts } from './facts.ts';
import { decideOwner, NO_OWNER, type OwnerDecision } from './owner.ts';

/** The current state of an object. `object` is undefined if it was deleted. */
export type Change =
  | { type: 'Node'; name: string; object: Node | undefined }
  | { type: 'NodePool'; name: string; object: NodePool | undefined }
  | { type: 'NodeGroup'; name: string; object: NodeGroup | undefined };

export type MembershipChange =
  | OfPool<'appeared'>
  | OfPool<'vanished'>
  /** The node joined (`from` is absent), left (`to` is absent) or changed its pool. */
  | { type: 'moved'; kind: PoolKind; node: string; from?: string; to?: string }
  /** The pool selects the node, but another pool owns it. */
  | OfClaim<'refused'>
  /** The conflict is resolved. */
  | OfClaim<'settled'>;
type OfPool<Type> = { type: Type; kind: PoolKind; pool: string };
type OfClaim<Type> = OfPool<Type> & { node: string };

export type Subscriber = (change: MembershipChange) => void;

/**
 * The single source of truth for the pool of each node, for both kinds of pool. The result depends on the current
 * objects only, not on the order in which they arrived or on earlier states.
 */
export class Membership {
  readonly #nodes = new NodesByLabel();
  readonly #kinds: Readonly<Record<PoolKind, KindMembership>> = {
    NodePool: new KindMembership('NodePool', this.#nodes),
    NodeGroup: new KindMembership('NodeGroup', this.#nodes),
  };
  readonly #subscribers = new Set<Subscriber>();

  poolOf(kind: PoolKind, node: string): string | undefined {
    return this.#kinds[kind].decisionFor(node).owner;
  }

  nodesOf(kind: PoolKind, pool: string): ReadonlySet<string> {
    return this.#kinds[kind].members.get(pool);
  }

  hasPool(kind: PoolKind, pool: string): boolean {
    return this.#kinds[kind].pools.get(pool) !== undefined;
  }

  /** When the pool was created, or undefined if it does not exist. */
  createdAt(kind: PoolKind, pool: string): string | undefined {
    return this.#kinds[kind].pools.get(pool)?.createdAt;
  }

  hasNode(node: string): boolean {
    return this.#nodes.get(node) !== undefined;
  }

  /** The label keys in the selectors of all pools. */
  selectorKeys(): ReadonlySet<string> {
    const pools = [...this.#kinds.NodePool.pools.all(), ...this.#kinds.NodeGroup.pools.all()];
    return new Set(pools.flatMap(({ selector }) => selector?.requirements.map(({ key }) => key) ?? []));
  }

  /** Nodes that the pool selects, but another pool owns. */
  refusedTo(kind: PoolKind, pool: string): ReadonlySet<string> {
    return this.#kinds[kind].refused.get(pool);
  }

  /** All pools that select the node, including those that do not own it. */
  claimantsOf(kind: PoolKind, node: string): string[] {
    const { owner, refused } = this.#kinds[kind].decisionFor(node);
    return owner === undefined ? [] : [owner, ...refused];
  }

  /**
   * Calls the subscriber for every change, in order. The index already reflects all changes of the same event by then.
   * Returns a function that unsubscribes.
   */
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
    // Nodes change with every heartbeat, but rarely in a way that matters here.
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
  readonly #decisions = new Map<string, OwnerDecision>();

  constructor(kind: PoolKind, nodes: NodesByLabel) {
    this.#kind = kind;
    this.#nodes = nodes;
    this.pools = new PoolCandidates(kind);
  }

  decisionFor(node: string): OwnerDecision {
    return this.#decisions.get(node) ?? NO_OWNER;
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

  /** Decides the owner of a node again, and returns the changes. */
  decide(name: string): MembershipChange[] {
    const node = this.#nodes.get(name);
    const old = this.decisionFor(name);
    const decision =
      node === undefined
        ? NO_OWNER
        : decideOwner(
            this.#kind,
            node,
            this.pools.poolsFor(node),
            (pool) => this.pools.get(pool) !== undefined,
          );
    if (decision === NO_OWNER) this.#decisions.delete(name);
    else this.#decisions.set(name, decision);
    return this.#record(name, old, decision);
  }

  #record(node: string, old: OwnerDecision, decision: OwnerDecision): MembershipChange[] {
    const kind = this.#kind;
    const changes: MembershipChange[] = [];
    if (old.owner !== decision.owner) {
      if (old.owner !== undefined) this.members.delete(old.owner, node);
      if (decision.owner !== undefined) this.members.add(decision.owner, node);
      changes.push({
        type: 'moved',
        kind,
        node,
        ...(old.owner !== undefined && { from: old.owner }),
        ...(decision.owner !== undefined && { to: decision.owner }),
      });
    }
    for (const pool of old.refused) {
      if (decision.refused.includes(pool)) continue;
      this.refused.delete(pool, node);
      changes.push({ type: 'settled', kind, node, pool });
    }
    for (const pool of decision.refused) {
      if (old.refused.includes(pool)) continue;
      this.refused.add(pool, node);
      changes.push({ type: 'refused', kind, node, pool });
    }
    return changes;
  }
}
