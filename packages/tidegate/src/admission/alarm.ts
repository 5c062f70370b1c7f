import { type Clock, childController, sleep } from '@tidegate/kube';

/** What comes together is answered together. */
const PACE_MS = 100;

/** A sleep that can be cut short. */
export class Alarm {
  readonly #clock: Clock;
  #rung = false;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /** Resolves after `ms`, or soon after the alarm has rung since the last time. False when the signal ended it. */
  async slept(ms: number, signal: AbortSignal): Promise<boolean> {
    const { controller, release } = childController(signal);
    this.#wake = () => controller.abort();
    if (this.#rung) this.#wake();
    try {
      await sleep(this.#clock, ms, controller.signal);
    } catch {
      if (!signal.aborted) await sleep(this.#clock, PACE_MS, signal).catch(() => {}); // Aborted: the caller is told below.
    } finally {
      release();
    }
    this.#rung = false;
    return !signal.aborted;
  }
}
