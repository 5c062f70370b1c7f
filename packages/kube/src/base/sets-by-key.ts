/** A set of strings for each key. An empty set uses no memory. */
export class SetsByKey {
  readonly #sets = new Map<string, Set<string>>();

  get(key: string): ReadonlySet<string> {
    return this.#sets.get(key) ?? NONE;
  }

  add(key: string, value: string): void {
    const set = this.#sets.get(key);
    if (set === undefined) this.#sets.set(key, new Set([value]));
    else set.add(value);
  }

  delete(key: string, value: string): void {
    const set = this.#sets.get(key);
    set?.delete(value);
    if (set?.size === 0) this.#sets.delete(key);
  }
}

const NONE: ReadonlySet<string> = new Set();
