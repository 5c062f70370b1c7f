/** A power of two, because shardOf masks the hash with it. */
const SHARDS = 1024;

/**
 * An immutable map. `with` returns a new map that shares unchanged parts with the old one. The entries are split into
 * small maps by a hash of the key, so that one change in a map with many thousands of entries copies a few dozen.
 * Requests in progress can keep using the old map.
 */
export class ShardedMap<V> {
  readonly size: number;
  readonly #shards: readonly (ReadonlyMap<string, V> | undefined)[];

  static empty<V>(): ShardedMap<V> {
    return new ShardedMap<V>(new Array(SHARDS).fill(undefined), 0);
  }

  private constructor(shards: readonly (ReadonlyMap<string, V> | undefined)[], size: number) {
    this.#shards = shards;
    this.size = size;
  }

  get(key: string): V | undefined {
    return this.#shards[shardOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#shards[shardOf(key)]?.has(key) === true;
  }

  /** Returns a map with the changes applied: first `remove`, then `set`. */
  with(set: Iterable<readonly [string, V]>, remove: Iterable<string>): ShardedMap<V> {
    const shards = [...this.#shards];
    /** Shards that this call has copied already. */
    const own = new Map<number, Map<string, V>>();
    const toChange = (key: string): Map<string, V> => {
      const index = shardOf(key);
      const shard = own.get(index) ?? new Map(shards[index]);
      own.set(index, shard);
      shards[index] = shard;
      return shard;
    };
    let size = this.size;
    for (const key of remove) if (toChange(key).delete(key)) size--;
    for (const [key, value] of set) {
      const shard = toChange(key);
      if (!shard.has(key)) size++;
      shard.set(key, value);
    }
    return new ShardedMap(shards, size);
  }

  *entries(): Generator<[string, V]> {
    for (const shard of this.#shards) if (shard !== undefined) yield* shard;
  }

  *values(): Generator<V> {
    for (const [, value] of this.entries()) yield value;
  }
}

/** FNV-1a. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (SHARDS - 1);
}
