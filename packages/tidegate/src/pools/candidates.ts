import { type LabelMatcher, SetsByKey } from '@tidegate/kube';
import { DESIRED_NODE_POOL_LABEL, NODE_POOL_LABEL, type PoolKind } from '../api/index.ts';
import type { NodeFacts, PoolFacts } from './facts.ts';

const pair = (key: string, value: string): string => `${key}=${value}`;

/** All nodes, indexed by each of their labels. */
export class NodesByLabel {
  readonly #nodes = new Map<string, NodeFacts>();
  readonly #byPair = new SetsByKey();

  get(name: string): NodeFacts | undefined {
    return this.#nodes.get(name);
  }

  names(): Iterable<string> {
    return this.#nodes.keys();
  }

  withLabel(labelPair: string): ReadonlySet<string> {
    return this.#byPair.get(labelPair);
  }

  set(name: string, node: NodeFacts | undefined): void {
    for (const [key, value] of Object.entries(this.#nodes.get(name)?.labels ?? {})) {
      this.#byPair.delete(pair(key, value), name);
    }
    if (node === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    for (const [key, value] of Object.entries(node?.labels ?? {})) this.#byPair.add(pair(key, value), name);
  }
}

/**
 * The pools of one kind. Finds the pools that may select a node, and the nodes that a pool may select. The results
 * contain all matches and few others, so the cost of a change does not grow with the size of the cluster.
 */
export class PoolCandidates {
  readonly #kind: PoolKind;
  readonly #pools = new Map<string, PoolFacts>();
  readonly #byNodeName = new SetsByKey();
  readonly #byPair = new SetsByKey();
  /** Pools with a selector such as `!site`, which no index can narrow down. */
  readonly #unindexed = new Set<string>();

  constructor(kind: PoolKind) {
    this.#kind = kind;
  }

  get(name: string): PoolFacts | undefined {
    return this.#pools.get(name);
  }

  all(): Iterable<PoolFacts> {
    return this.#pools.values();
  }

  set(name: string, pool: PoolFacts | undefined): void {
    const old = this.#pools.get(name);
    for (const node of old?.nodes ?? []) this.#byNodeName.delete(node, name);
    for (const labelPair of pairsOf(old?.selector) ?? []) this.#byPair.delete(labelPair, name);
    this.#unindexed.delete(name);
    if (pool === undefined) this.#pools.delete(name);
    else this.#pools.set(name, pool);
    for (const node of pool?.nodes ?? []) this.#byNodeName.add(node, name);
    const pairs = pairsOf(pool?.selector);
    if (pairs === undefined) this.#unindexed.add(name);
    for (const labelPair of pairs ?? []) this.#byPair.add(labelPair, name);
  }

  poolsFor(node: NodeFacts): PoolFacts[] {
    const names = new Set([...this.#unindexed, ...this.#byNodeName.get(node.name)]);
    for (const [key, value] of Object.entries(node.labels)) {
      for (const name of this.#byPair.get(pair(key, value))) names.add(name);
    }
    for (const label of this.#kind === 'NodePool' ? [DESIRED_NODE_POOL_LABEL, NODE_POOL_LABEL] : []) {
      const name = node.labels[label];
      if (name !== undefined) names.add(name);
    }
    return [...names].map((name) => this.#pools.get(name)).filter((pool) => pool !== undefined);
  }

  /** The nodes that the pool may select. */
  *nodesFor(pool: PoolFacts, nodes: NodesByLabel): Iterable<string> {
    yield* pool.nodes;
    const pairs = pairsOf(pool.selector);
    if (pairs === undefined) yield* nodes.names();
    for (const labelPair of pairs ?? []) yield* nodes.withLabel(labelPair);
    if (this.#kind === 'NodeGroup') return;
    yield* nodes.withLabel(pair(DESIRED_NODE_POOL_LABEL, pool.name));
    yield* nodes.withLabel(pair(NODE_POOL_LABEL, pool.name));
  }
}

/** Label pairs of which a selected node must have at least one. Undefined if the selector has no such requirement. */
function pairsOf(selector: LabelMatcher | undefined): string[] | undefined {
  if (selector === undefined) return [];
  for (const { key, operator, values } of selector.requirements) {
    if (operator === '=' || operator === '==' || operator === 'in')
      return values.map((value) => pair(key, value));
  }
  return undefined;
}
