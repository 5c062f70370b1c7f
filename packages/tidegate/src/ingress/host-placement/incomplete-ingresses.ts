import type { Cache, Clock, Ingress } from '@tidegate/kube';
import { readIngress } from '../compile/index.ts';
import type { FamilyRoutes } from './family-routes.ts';

/** Claims are recorded within milliseconds. A claim that does not come must not hold up others. */
const PATIENCE_MS = 2_000;

/**
 * The Ingresses of one family whose hosts are not all claimed yet. The claims of an Ingress are recorded one after the other.
 * If its first host were placed before the others are known, it could have to move at once, because all of them do not fit.
 */
export class IncompleteIngresses {
  readonly #ingresses: Pick<Cache<Ingress>, 'get'>;
  readonly #clock: Clock;
  readonly #keys = new Set<string>();
  #since: number | undefined;

  constructor(ingresses: Pick<Cache<Ingress>, 'get'>, clock: Clock) {
    this.#ingresses = ingresses;
    this.#clock = clock;
  }

  /** Milliseconds to wait before the next plan. `changed` are Ingresses whose outcome has changed. */
  waitMs(routes: FamilyRoutes, changed: Iterable<string>): number {
    for (const key of changed) this.#keys.add(key);
    for (const key of this.#keys) if (!this.#isIncomplete(key, routes)) this.#keys.delete(key);
    if (this.#keys.size === 0) {
      this.#since = undefined;
      return 0;
    }
    const now = this.#clock.monotonic();
    this.#since ??= now;
    const wait = this.#since + PATIENCE_MS - now;
    if (wait > 0) return wait;
    this.#keys.clear();
    this.#since = undefined;
    return 0;
  }

  #isIncomplete(key: string, routes: FamilyRoutes): boolean {
    const ingress = this.#ingresses.get(key);
    return (
      ingress !== undefined && [...readIngress(ingress).claims.keys()].some((host) => routes.isAwaited(host))
    );
  }
}
