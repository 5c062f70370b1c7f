import type { Clock } from '@tidegate/kube';

/** Calls back once, at the earliest of the requested times. */
export class Alarm {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #at: number | undefined;
  #cancel: () => void = () => {};

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  after(ms: number): void {
    const at = this.#clock.monotonic() + ms;
    if (this.#at !== undefined && this.#at <= at) return;
    this.clear();
    this.#at = at;
    this.#cancel = this.#clock.after(Math.max(0, ms), () => {
      this.#at = undefined;
      this.#wake();
    });
  }

  clear(): void {
    this.#cancel();
    this.#at = undefined;
  }
}
