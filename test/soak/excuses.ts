/** Explanations for failed requests: which addresses may fail, and for how long. Any other failure is a violation. */

export interface Excuse {
  addresses: ReadonlySet<string>;
  from: number;
  until: number;
  why: string;
  /** How many failures it explains, and how many seconds after its start the last of them happened. */
  failures: number;
  lastAfter: number;
}

export class Excuses {
  readonly #excuses: Excuse[] = [];
  #untilMended: Excuse[] = [];

  /** Valid from now on for this many seconds. */
  give(addresses: readonly string[], seconds: number, why: string): Excuse {
    const now = performance.now();
    const excuse = {
      addresses: new Set(addresses),
      from: now,
      until: now + seconds * 1000,
      why,
      failures: 0,
      lastAfter: 0,
    };
    this.#excuses.push(excuse);
    return excuse;
  }

  /** Valid from now on until links are mended. */
  giveUntilMended(addresses: readonly string[], why: string): void {
    this.#untilMended.push(this.give(addresses, Number.POSITIVE_INFINITY, why));
  }

  /** Called when links are mended; failures are still explained for this many seconds. */
  mended(seconds: number): void {
    for (const excuse of this.#untilMended) excuse.until = performance.now() + seconds * 1000;
    this.#untilMended = [];
  }

  /** Whether an excuse explains a failure at this address in this period; the latest one is charged. */
  explain(address: string, started: number, ended: number): boolean {
    const excuse = this.#excuses.findLast(
      ({ addresses, from, until }) => addresses.has(address) && started < until && ended >= from,
    );
    if (excuse === undefined) return false;
    excuse.failures += 1;
    excuse.lastAfter = Math.max(excuse.lastAfter, (ended - excuse.from) / 1000);
    return true;
  }

  /** Whether no response can be expected at this address until links are mended. */
  untilMended(address: string): boolean {
    return this.#untilMended.some(({ addresses }) => addresses.has(address));
  }

  /** The excuses that explain at least one failure. */
  get used(): Excuse[] {
    return this.#excuses.filter(({ failures }) => failures > 0);
  }
}
