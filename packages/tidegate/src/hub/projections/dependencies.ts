/**
 * Which objects depend on which Services and nodes, indexed both ways. When one Service changes, only its slices are
 * filtered again, not all of them.
 */
export class DependencyIndex {
  readonly #ofKey = new Map<string, readonly string[]>();
  readonly #keys = new Map<string, Set<string>>();

  /** Replaces the dependencies of the object `key`. */
  set(key: string, dependencies: readonly string[]): void {
    this.delete(key);
    if (dependencies.length === 0) return;
    this.#ofKey.set(key, dependencies);
    for (const dependency of dependencies) {
      const keys = this.#keys.get(dependency) ?? new Set();
      this.#keys.set(dependency, keys.add(key));
    }
  }

  delete(key: string): void {
    for (const dependency of this.#ofKey.get(key) ?? []) {
      const keys = this.#keys.get(dependency);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(dependency);
    }
    this.#ofKey.delete(key);
  }

  clear(): void {
    this.#ofKey.clear();
    this.#keys.clear();
  }

  /** The keys of all objects that depend on at least one of these. */
  affected(dependencies: ReadonlySet<string>): Set<string> {
    const affected = new Set<string>();
    for (const dependency of dependencies) {
      for (const key of this.#keys.get(dependency) ?? []) affected.add(key);
    }
    return affected;
  }
}
