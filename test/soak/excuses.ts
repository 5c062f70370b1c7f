/** What explains that a front door did not answer, where, and for how long. Whatever is not explained is a violation. */

export interface Excuse {
  addresses: ReadonlySet<string>;
  from: number;
  until: number;
  why: string;
  /** How many failures it explains, and how long after its beginning the last of them was, in seconds. */
  failures: number;
  lastAfter: number;
}

export class Excuses {
  readonly #excuses: Excuse[] = [];
  #untilMended: Excuse[] = [];

  /** From now on, for so many seconds. */
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

  /** From now on, until links are mended. */
  giveUntilMended(addresses: readonly string[], why: string): void {
    this.#untilMended.push(this.give(addresses, Number.POSITIVE_INFINITY, why));
  }

  /** All is well again after so many seconds. */
  mended(seconds: number): void {
    for (const excuse of this.#untilMended) excuse.until = performance.now() + seconds * 1000;
    this.#untilMended = [];
  }

  /** Whether something explains what failed at this address between these moments: the latest such thing. */
  explain(address: string, started: number, ended: number): boolean {
    const excuse = this.#excuses.findLast(
      ({ addresses, from, until }) => addresses.has(address) && started < until && ended >= from,
    );
    if (excuse === undefined) return false;
    excuse.failures += 1;
    excuse.lastAfter = Math.max(excuse.lastAfter, (ended - excuse.from) / 1000);
    return true;
  }

  /** Whether nothing can be expected there until links are mended. */
  untilMended(address: string): boolean {
    return this.#untilMended.some(({ addresses }) => addresses.has(address));
  }

  /** Those that explain a failure. */
  get used(): Excuse[] {
    return this.#excuses.filter(({ failures }) => failures > 0);
  }
}
