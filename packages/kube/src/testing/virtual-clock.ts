import type { Clock } from '../base/clock.ts';

interface Timer {
  at: number;
  order: number;
  fire: () => void;
}

/** Time that passes only when a test says so. */
export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fire };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are still set: a test can see that nothing was left behind. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets time pass; timers fire in order, and what they resolve runs before the next one. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#now = Math.max(this.#now, timer.at);
      this.#timers.delete(timer);
      timer.fire();
      await settle();
    }
    this.#now = end;
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      if (
        first === undefined ||
        timer.at < first.at ||
        (timer.at === first.at && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }
}

/** Lets promises that are already resolved run their course. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
