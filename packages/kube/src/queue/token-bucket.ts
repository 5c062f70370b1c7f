import type { Clock } from '../base/clock.ts';

export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** Allows `burst` at once and `perSecond` in the long run. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  #tokens: number;
  #filledAt: number;

  constructor(clock: Clock, limit: RateLimit) {
    this.#clock = clock;
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAt = clock.monotonic();
  }

  /** Takes a token in any case, and says how long to wait until it is really there. */
  reserve(): number {
    this.#fill();
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#limit.perSecond) * 1000;
  }

  /** Takes a token if there is one. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const gained = ((now - this.#filledAt) / 1000) * this.#limit.perSecond;
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + gained);
    this.#filledAt = now;
  }
}
