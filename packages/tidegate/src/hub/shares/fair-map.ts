import type { Holder } from './holder.ts';
import type { ShareLimits } from './limits.ts';

interface Entry<V> {
  readonly value: V;
  readonly identity: string;
}

interface Owned {
  tenant: string;
  /** The keys of the identity, the least recently set first. */
  readonly keys: Set<string>;
}

/**
 * A bounded map in which no client can push out what others need. A new entry evicts the least recently set entry of the
 * same identity if that has too many. If all together have too many, it evicts an entry of the identity with the most
 * entries, in the tenant with the most entries. So a tenant that uses less than an equal share loses nothing, however many
 * entries, tokens and accounts another tenant creates.
 */
export class FairMap<V> {
  readonly #limits: ShareLimits;
  readonly #onEvicted: (key: string, value: V, holder: Holder) => void;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #owned = new Map<string, Owned>();
  /** The identities of each tenant, and how many entries they have together. */
  readonly #tenants = new Map<string, { identities: Set<string>; count: number }>();

  constructor(limits: ShareLimits, onEvicted: (key: string, value: V, holder: Holder) => void = () => {}) {
    this.#limits = limits;
    this.#onEvicted = onEvicted;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** A copy of the keys of one identity: the caller may delete entries meanwhile. */
  keysOf(identity: string): string[] {
    return [...(this.#owned.get(identity)?.keys ?? [])];
  }

  *entries(): IterableIterator<[string, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  /** Sets an entry, which becomes the newest of its identity, and evicts what is too much. */
  set(key: string, value: V, holder: Holder): void {
    this.delete(key);
    this.#entries.set(key, { value, identity: holder.identity });
    const owned = this.#ownedBy(holder);
    owned.keys.add(key);
    this.#tenants.get(owned.tenant)!.count++;
    if (owned.keys.size > this.#limits.perIdentity) this.#evict(holder.identity);
    if (this.#entries.size > this.#limits.total) this.#evict(this.#largestIdentity());
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    const { identity } = entry;
    const owned = this.#owned.get(identity)!;
    this.#entries.delete(key);
    owned.keys.delete(key);
    this.#tenants.get(owned.tenant)!.count--;
    if (owned.keys.size === 0) this.#leave(identity, owned.tenant);
    return true;
  }

  /** What an identity has. The tenant of a token may have been unknown until now; then all of it moves. */
  #ownedBy({ identity, tenant }: Holder): Owned {
    const known = this.#owned.get(identity);
    if (known?.tenant === tenant) return known;
    const owned: Owned = { tenant, keys: known?.keys ?? new Set() };
    if (known !== undefined) this.#leave(identity, known.tenant);
    this.#owned.set(identity, owned);
    const group = this.#tenants.get(tenant) ?? { identities: new Set(), count: 0 };
    this.#tenants.set(tenant, group);
    group.identities.add(identity);
    group.count += owned.keys.size;
    return owned;
  }

  #leave(identity: string, tenant: string): void {
    const group = this.#tenants.get(tenant)!;
    group.count -= this.#owned.get(identity)?.keys.size ?? 0;
    group.identities.delete(identity);
    this.#owned.delete(identity);
    if (group.identities.size === 0) this.#tenants.delete(tenant);
  }

  #largestIdentity(): string {
    const { identities } = largest(this.#tenants.values(), ({ count }) => count);
    return largest(identities, (identity) => this.#owned.get(identity)!.keys.size);
  }

  #evict(identity: string): void {
    const { tenant, keys } = this.#owned.get(identity)!;
    const [key = ''] = keys;
    const { value } = this.#entries.get(key)!;
    this.delete(key);
    this.#onEvicted(key, value, { identity, tenant });
  }
}

function largest<T>(all: Iterable<T>, sizeOf: (each: T) => number): T {
  let found: T | undefined;
  let most = -1;
  for (const each of all) {
    const size = sizeOf(each);
    if (size <= most) continue;
    most = size;
    found = each;
  }
  return found!;
}
