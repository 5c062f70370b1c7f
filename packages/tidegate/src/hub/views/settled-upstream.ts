import type { Clock, Link } from '@tidegate/kube';

/** Silent for longer, a node may count as dead, and its pods as not ready. */
const LONG_MS = 10_000;
/** Until all nodes of the site have noticed, and have told how their pods are. */
const SETTLE_MS = 5_000;

/**
 * The link as it counts for where endpoints are: after a long time away it is back a little later. What the API server
 * says of the site at first is what it made of the silence, and whoever went by that would send nobody there.
 */
export class SettledUpstream implements Link {
  readonly #upstream: Link;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #ignore: () => void;
  #online: boolean;
  #awaySince: number;
  #cancelTimer = (): void => {};

  constructor(upstream: Link, clock: Clock) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#online = upstream.online;
    this.#awaySince = clock.monotonic();
    this.#ignore = upstream.onChange(() => this.#changed());
  }

  get online(): boolean {
    return this.#online;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#ignore();
    this.#cancelTimer();
  }

  #changed(): void {
    this.#cancelTimer();
    if (!this.#upstream.online) {
      if (this.#online) this.#awaySince = this.#clock.monotonic();
      this.#set(false);
    } else if (!this.#online) {
      const long = this.#clock.monotonic() - this.#awaySince >= LONG_MS;
      if (long) this.#cancelTimer = this.#clock.after(SETTLE_MS, () => this.#set(true));
      else this.#set(true);
    }
  }

  #set(online: boolean): void {
    if (this.#online === online) return;
    this.#online = online;
    for (const listener of [...this.#listeners]) listener();
  }
}
