import type { Clock, ConnectionState } from '@tidegate/kube';

/** After a longer outage, the cluster may have marked the nodes of the site NotReady, and their pods as not ready. */
const LONG_OUTAGE_MS = 10_000;
/** The time that the nodes of the site get to reconnect and to report the status of their pods. */
const SETTLE_MS = 5_000;

/**
 * The upstream, with a delay for views of endpoints: after a long outage, it is online a little later than the real
 * upstream.
 *
 * When a site was cut off, the node lifecycle controller marks its nodes NotReady and its pods not ready, and the
 * endpoints of the site disappear from EndpointSlices. That is the state that the API server has when the link is
 * restored. If kube-proxy and routers received it immediately, they would drop all endpoints of the site, although the
 * pods run, until the kubelets have reported. So the hub serves the endpoints from before the outage for a few seconds
 * more.
 */
export class SettledUpstream implements ConnectionState {
  readonly #upstream: ConnectionState;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #ignore: () => void;
  #online: boolean;
  #offlineSince: number;
  #cancelTimer = (): void => {};

  constructor(upstream: ConnectionState, clock: Clock) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#online = upstream.online;
    this.#offlineSince = clock.monotonic();
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
      // An upstream that fails again while it settles has been offline since the first failure.
      if (this.#online) this.#offlineSince = this.#clock.monotonic();
      this.#set(false);
    } else if (!this.#online) {
      const wasLong = this.#clock.monotonic() - this.#offlineSince >= LONG_OUTAGE_MS;
      if (wasLong) this.#cancelTimer = this.#clock.after(SETTLE_MS, () => this.#set(true));
      else this.#set(true);
    }
  }

  #set(online: boolean): void {
    if (this.#online === online) return;
    this.#online = online;
    for (const listener of [...this.#listeners]) listener();
  }
}
