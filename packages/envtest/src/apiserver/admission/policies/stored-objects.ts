import type { KubeObject } from '@tidegate/kube';
import type { Store } from '../../store/types.ts';

/** All objects of one resource, decoded once for each version. Follows the store. */
export class StoredObjects<T extends KubeObject> {
  readonly #byName = new Map<string, T>();
  readonly #stop: () => void;

  constructor(store: Store, resource: string) {
    const put = ({ name, value }: { name: string; value: Buffer }): void => {
      this.#byName.set(name, JSON.parse(value.toString()) as T);
    };
    for (const entry of store.list(resource).entries) put(entry);
    this.#stop = store.watchAll((changes) => {
      for (const { resource: changed, type, entry } of changes) {
        if (changed !== resource) continue;
        if (type === 'put') put(entry);
        else this.#byName.delete(entry.name);
      }
    });
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): T | undefined {
    return this.#byName.get(name);
  }

  /** Sorted by name, so that of several denials always the same one is returned. */
  all(): T[] {
    return [...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  close(): void {
    this.#stop();
  }
}
