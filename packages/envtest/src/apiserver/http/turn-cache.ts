/**
 * Remembers values for one turn of the event loop. The store notifies all watchers of a change in one turn, so that is how
 * long an encoded event is needed. A WeakMap of changes would keep it for as long as the history keeps the change: a second
 * copy of thousands of objects in memory.
 */
export class TurnCache<K, V> {
  readonly #values = new Map<K, V>();

  get(key: K): V | undefined {
    return this.#values.get(key);
  }

  set(key: K, value: V): void {
    if (this.#values.size === 0) setImmediate(() => this.#values.clear());
    this.#values.set(key, value);
  }
}
