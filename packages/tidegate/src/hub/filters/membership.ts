import { compareResourceVersions } from '@tidegate/kube';
import type { PoolKind } from '../../api/index.ts';
import type { PoolLookup } from '../../scope/index.ts';

/** The status of a pool. */
export interface PoolState {
  readonly resourceVersion: string;
  readonly nodes: readonly string[];
}

/**
 * Which node is in which pool, according to the status of the pools. The labels of Node objects have the same information,
 * but kubelets update their Node objects so often that watching all of them is too much for a slow link.
 */
export class PoolMembership implements PoolLookup {
  readonly #claims: Readonly<Record<PoolKind, Claims>> = { NodePool: new Claims(), NodeGroup: new Claims() };

  poolOf(kind: PoolKind, node: string): string | undefined {
    return this.#claims[kind].ownerOf(node);
  }

  /** The other nodes of the pools that the node is in. */
  neighborsOf(node: string): string[] {
    const nodes = (['NodePool', 'NodeGroup'] as const).flatMap((kind) => {
      const pool = this.poolOf(kind, node);
      return pool === undefined ? [] : this.#claims[kind].nodesOf(pool);
    });
    return [...new Set(nodes)].filter((other) => other !== node).sort();
  }

  /** Sets the state of a pool; undefined: the pool was deleted. Returns the nodes whose pool has changed. */
  set(kind: PoolKind, pool: string, state: PoolState | undefined): string[] {
    return this.#claims[kind].set(pool, state);
  }
}

/** The nodes of all pools of one kind. */
class Claims {
  readonly #pools = new Map<string, PoolState>();
  /** The pools that name a node. Two only while a node moves, until the status of both pools is updated. */
  readonly #claimants = new Map<string, readonly string[]>();

  /** If two pools name the node, the one that was written last is its pool. */
  ownerOf(node: string): string | undefined {
    const claimants = this.#claimants.get(node);
    if (claimants === undefined || claimants.length === 1) return claimants?.[0];
    return claimants.reduce((owner, pool) => (this.#isNewer(pool, owner) ? pool : owner));
  }

  nodesOf(pool: string): string[] {
    return (this.#pools.get(pool)?.nodes ?? []).filter((node) => this.ownerOf(node) === pool);
  }

  set(pool: string, state: PoolState | undefined): string[] {
    const old = this.#pools.get(pool)?.nodes ?? [];
    const nodes = state?.nodes ?? [];
    const before = new Map([...old, ...nodes].map((node) => [node, this.ownerOf(node)]));
    for (const node of old) this.#remove(node, pool);
    for (const node of new Set(nodes)) this.#add(node, pool);
    if (state === undefined) this.#pools.delete(pool);
    else this.#pools.set(pool, state);
    return [...before.keys()].filter((node) => this.ownerOf(node) !== before.get(node));
  }

  #add(node: string, pool: string): void {
    this.#claimants.set(node, [...(this.#claimants.get(node) ?? []), pool]);
  }

  #remove(node: string, pool: string): void {
    const remaining = (this.#claimants.get(node) ?? []).filter((claimant) => claimant !== pool);
    if (remaining.length === 0) this.#claimants.delete(node);
    else this.#claimants.set(node, remaining);
  }

  #isNewer(pool: string, than: string): boolean {
    const [a, b] = [this.#pools.get(pool), this.#pools.get(than)];
    const order = compareResourceVersions(a?.resourceVersion, b?.resourceVersion) ?? 0;
    // If the versions cannot be compared, the names decide, so that all hubs decide alike.
    return order === 0 ? pool < than : order > 0;
  }
}
