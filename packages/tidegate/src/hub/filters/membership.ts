import { compareResourceVersions } from '@tidegate/kube';
import type { PoolKind } from '../../api/index.ts';
import type { PoolLookup } from '../../scope/index.ts';

/** What a pool says of itself. */
export interface PoolState {
  readonly resourceVersion: string;
  readonly nodes: readonly string[];
}

/** Who is in which pool, by what the pools say: Node objects come too often for a thin link. */
export class PoolMembership implements PoolLookup {
  readonly #claims: Readonly<Record<PoolKind, Claims>> = { NodePool: new Claims(), NodeGroup: new Claims() };

  poolOf(kind: PoolKind, node: string): string | undefined {
    return this.#claims[kind].ownerOf(node);
  }

  /** Undefined when the pool is gone. Returns the nodes that are in another pool now, or in none. */
  set(kind: PoolKind, pool: string, state: PoolState | undefined): string[] {
    return this.#claims[kind].set(pool, state);
  }
}

class Claims {
  readonly #pools = new Map<string, PoolState>();
  /** Nearly always one; two while a node moves and only one of the pools has said so yet. */
  readonly #claimants = new Map<string, readonly string[]>();

  /** The pool that was written last knows best. */
  ownerOf(node: string): string | undefined {
    const claimants = this.#claimants.get(node);
    if (claimants === undefined || claimants.length === 1) return claimants?.[0];
    return claimants.reduce((owner, pool) => (this.#isNewer(pool, owner) ? pool : owner));
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
    const left = (this.#claimants.get(node) ?? []).filter((claimant) => claimant !== pool);
    if (left.length === 0) this.#claimants.delete(node);
    else this.#claimants.set(node, left);
  }

  #isNewer(pool: string, than: string): boolean {
    const [a, b] = [this.#pools.get(pool), this.#pools.get(than)];
    const order = compareResourceVersions(a?.resourceVersion, b?.resourceVersion) ?? 0;
    // Without an order among versions the names decide, so that every hub decides alike.
    return order === 0 ? pool < than : order > 0;
  }
}
