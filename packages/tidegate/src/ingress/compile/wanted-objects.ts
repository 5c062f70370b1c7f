import { SetsByKey } from '@tidegate/kube';
import type { Changes } from '../model.ts';

/**
 * The Secrets, or the ConfigMaps, that the Ingresses of this router need. The agent reads exactly these, so it needs no access
 * to others.
 */
export class WantedObjects {
  readonly #byIngress = new Map<string, ReadonlySet<string>>();
  readonly #ingresses = new SetsByKey();
  /** The objects that earlier flushes have reported as needed. */
  readonly #reported = new Set<string>();
  readonly #changed = new Set<string>();

  /** Replaces the objects of an Ingress. */
  set(ingress: string, objects: ReadonlySet<string>): void {
    const before = this.#byIngress.get(ingress) ?? new Set();
    for (const object of before) this.#change(object, () => this.#ingresses.delete(object, ingress));
    for (const object of objects) this.#change(object, () => this.#ingresses.add(object, ingress));
    if (objects.size === 0) this.#byIngress.delete(ingress);
    else this.#byIngress.set(ingress, objects);
  }

  /** The objects that are needed now, or no longer needed, since the last flush. */
  flush(): Changes<string, string> {
    const set: string[] = [];
    const remove: string[] = [];
    for (const object of this.#changed) {
      const isWanted = this.#ingresses.get(object).size > 0;
      if (isWanted === this.#reported.has(object)) continue;
      if (isWanted) this.#reported.add(object);
      else this.#reported.delete(object);
      (isWanted ? set : remove).push(object);
    }
    this.#changed.clear();
    return { set, remove };
  }

  #change(object: string, change: () => void): void {
    change();
    this.#changed.add(object);
  }
}
