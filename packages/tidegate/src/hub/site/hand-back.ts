import type { Clock, ConnectionState } from '@tidegate/kube';

/**
 * How long the reports of the kubelet count after the API server has received all of them. In this time, the controllers in
 * the cloud update the endpoints, and the update arrives here.
 */
const HAND_BACK_MS = 30_000;
const INTERVAL_MS = 5_000;

export interface HandBackOptions {
  upstream: ConnectionState;
  /** Whether a status of a pod waits to be sent to the API server. */
  isWaiting(): boolean;
  clock: Clock;
  onChange(inForce: boolean): void;
}

/**
 * Decides when the reports of the kubelet take precedence over the endpoints that the API server sent: while no API server is
 * reachable, and afterwards until the API server has had time to take them into account. If they ended with the cut,
 * clients would get the old endpoints again for a moment.
 */
export class HandBack {
  readonly #options: HandBackOptions;
  readonly #ignore: () => void;
  #inForce = false;
  #cancel = (): void => {};

  constructor(options: HandBackOptions) {
    this.#options = options;
    this.#ignore = options.upstream.onChange(() => this.#look());
  }

  get inForce(): boolean {
    return this.#inForce;
  }

  /** Looks at the upstream for the first time. Reports that wait since an earlier process of the hub count as well. */
  start(): void {
    if (this.#options.isWaiting()) this.#set(true);
    this.#look();
  }

  close(): void {
    this.#ignore();
    this.#cancel();
  }

  #look(): void {
    const { upstream, clock } = this.#options;
    this.#cancel();
    if (!upstream.online) this.#set(true);
    else if (this.#inForce) this.#endLater(clock.monotonic());
  }

  /** `since`: when the API server had received everything. */
  #endLater(since: number): void {
    const { isWaiting, clock } = this.#options;
    this.#cancel = clock.after(INTERVAL_MS, () => {
      const now = clock.monotonic();
      const received = isWaiting() ? now : since;
      if (now - received >= HAND_BACK_MS) this.#set(false);
      else this.#endLater(received);
    });
  }

  #set(inForce: boolean): void {
    if (this.#inForce === inForce) return;
    this.#inForce = inForce;
    this.#options.onChange(inForce);
  }
}
