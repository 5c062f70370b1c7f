import type { Clock } from '../base/clock.ts';

/** `perSecond` operations on average, and up to `burst` at once. */
export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** Allows `burst` operations at once, and `perSecond` on average. */
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

  /** Always takes a token, and returns the milliseconds to wait until it is available. */
  reserve(): number {
    this.#fill();
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#limit.perSecond) * 1000;
  }

  /** Takes a token if one is available. */
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
