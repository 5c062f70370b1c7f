import { SetsByKey } from '@tidegate/kube';
import type { Changes } from '../model.ts';

/** Which Secrets are needed, so that nobody has to be allowed to read all of them. */
export class WantedSecrets {
  readonly #byIngress = new Map<string, ReadonlySet<string>>();
  readonly #ingresses = new SetsByKey();
  readonly #told = new Set<string>();
  readonly #changed = new Set<string>();

  set(ingress: string, secrets: ReadonlySet<string>): void {
    const before = this.#byIngress.get(ingress) ?? new Set();
    for (const secret of before) this.#change(secret, () => this.#ingresses.delete(secret, ingress));
    for (const secret of secrets) this.#change(secret, () => this.#ingresses.add(secret, ingress));
    if (secrets.size === 0) this.#byIngress.delete(ingress);
    else this.#byIngress.set(ingress, secrets);
  }

  flush(): Changes<string, string> {
    const set: string[] = [];
    const remove: string[] = [];
    for (const secret of this.#changed) {
      const isWanted = this.#ingresses.get(secret).size > 0;
      if (isWanted === this.#told.has(secret)) continue;
      if (isWanted) this.#told.add(secret);
      else this.#told.delete(secret);
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
