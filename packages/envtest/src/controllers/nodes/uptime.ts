import { Controller } from '@tidegate/kube';
import type { MakeController } from '../context.ts';

/**
 * Since when the API server answers us without a break. Who could not be heard meanwhile may well be alive: silence
 * counts only while we listen. That our own process was stopped looks the same as an outage, and means the same.
 */
export class Uptime {
  readonly #patienceMs: number;
  #since = 0;
  #lastAnswer = Number.NEGATIVE_INFINITY;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  answered(now: number): void {
    if (this.#isBroken(now)) this.#since = now;
    this.#lastAnswer = now;
  }

  /** `now` while there is no answer. */
  since(now: number): number {
    return this.#isBroken(now) ? now : this.#since;
  }

  #isBroken(now: number): boolean {
    return now - this.#lastAnswer > this.#patienceMs;
  }
}

/** Asks the API server from time to time whether it is there. */
export const uptimeController =
  (uptime: Uptime, everyMs: number): MakeController =>
  ({ client, clock, metrics, log }) => {
    const controller = new Controller({ name: 'apiserver-uptime', reconcile, clock, metrics, log });
    controller.enqueue('/livez');
    return controller;

    async function reconcile(path: string, signal: AbortSignal) {
      try {
        await client.text(path, { signal, deadlineMs: everyMs });
        uptime.answered(clock.monotonic());
      } catch (error) {
        log.debug({ err: error }, 'the API server does not answer');
      }
      return { requeueAfter: everyMs };
    }
  };
