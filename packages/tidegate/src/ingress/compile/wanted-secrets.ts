import { SetsByKey } from '@tidegate/kube';
import type { Changes } from '../model.ts';

/**
 * The Secrets that the Ingresses of this router need. The agent watches exactly these, so it needs no access to
 * others.
 */
export class WantedSecrets {
  readonly #byIngress = new Map<string, ReadonlySet<string>>();
  readonly #ingresses = new SetsByKey();
  /** The Secrets that earlier flushes have reported as needed. */
  readonly #reported = new Set<string>();
  readonly #changed = new Set<string>();

  /** Replaces the Secrets of an Ingress. */
  set(ingress: string, secrets: ReadonlySet<string>): void {
    const before = this.#byIngress.get(ingress) ?? new Set();
    for (const secret of before) this.#change(secret, () => this.#ingresses.delete(secret, ingress));
    for (const secret of secrets) this.#change(secret, () => this.#ingresses.add(secret, ingress));
    if (secrets.size === 0) this.#byIngress.delete(ingress);
    else this.#byIngress.set(ingress, secrets);
  }

  /** The Secrets that are needed now, or no longer needed, since the last flush. */
  flush(): Changes<string, string> {
    const set: string[] = [];
    const remove: string[] = [];
    for (const secret of this.#changed) {
      const isWanted = this.#ingresses.get(secret).size > 0;
      if (isWanted === this.#reported.has(secret)) continue;
      if (isWanted) this.#reported.add(secret);
      else this.#reported.delete(secret);
      (isWanted ? set : remove).push(secret);
    }
    this.#changed.clear();
    return { set, remove };
  }

  #change(secret: string, change: () => void): void {
    change();
    this.#changed.add(secret);
  }
}
