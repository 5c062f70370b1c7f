import { type Clock, childController, sleep } from '@tidegate/kube';

/** Wake-ups within this time are combined. */
const COALESCE_MS = 100;

/** A sleep that can be ended early. */
export class WakeableSleep {
  readonly #clock: Clock;
  #requested = false;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#requested = true;
    this.#wake();
  }

  /**
   * Resolves to true after `ms`, or shortly after `wake` was called, even if that was before this call. Resolves to
   * false if the signal was aborted.
   */
  async sleep(ms: number, signal: AbortSignal): Promise<boolean> {
    const { controller, release } = childController(signal);
    this.#wake = () => controller.abort();
    if (this.#requested) this.#wake();
    try {
      await sleep(this.#clock, ms, controller.signal);
    } catch {
      if (!signal.aborted) await sleep(this.#clock, COALESCE_MS, signal).catch(() => {}); // If aborted, the return value reports it.
    } finally {
      release();
    }
    this.#requested = false;
    return !signal.aborted;
  }
}
