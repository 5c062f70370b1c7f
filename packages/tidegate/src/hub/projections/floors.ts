import { isOlderVersion } from '@tidegate/kube';
import type { View } from '../views/index.ts';
import { following, newerOf } from './version.ts';

interface Past {
  /** Where the view was then. */
  readonly at: string;
  readonly floor: string | undefined;
  readonly configuration: number;
}

/** From which versions on a new projection can tell what clients have seen that come back with them. */
export class Floors {
  readonly #past = new WeakMap<View, Past>();
  #configuration = 0;

  /** From now on clients may see anything through other filters. */
  reconfigured(): void {
    this.#configuration += 1;
  }

  /** What clients of the view have seen before `version` is known no more. Undefined: the view itself knows all. */
  raise(view: View, version: string | undefined): void {
    const at = view.resourceVersion;
    if (at === undefined) return;
    const before = this.of(view);
    const floor = version === undefined ? before : newerOf(before, version);
    this.#past.set(view, { at, floor, configuration: this.#configuration });
  }

  of(view: View): string | undefined {
    const past = this.#past.get(view);
    const now = view.resourceVersion;
    // A cluster that was restored from a backup begins anew.
    if (past === undefined || now === undefined || isOlderVersion(now, past.at)) return undefined;
    const unchanged = past.configuration === this.#configuration;
    return unchanged ? past.floor : newerOf(past.floor, following(now));
  }
}
