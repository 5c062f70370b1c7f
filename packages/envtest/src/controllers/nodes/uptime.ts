import { Controller } from '@tidegate/kube';
import type { MakeController } from '../context.ts';

/**
 * Since when the API server has responded without interruption. A node whose heartbeats could not be received may
 * well be alive, so silence counts only while this process listens. A pause of this process, for example a suspended
 * machine, looks like an outage of the API server and has the same effect.
 */
export class Uptime {
  readonly #toleranceMs: number;
  #since = 0;
  #lastAnswer = Number.NEGATIVE_INFINITY;

  constructor(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  answered(now: number): void {
    if (this.#isBroken(now)) this.#since = now;
    this.#lastAnswer = now;
  }

  /** The start of the current uptime; `now` during an outage. */
  since(now: number): number {
    return this.#isBroken(now) ? now : this.#since;
  }

  #isBroken(now: number): boolean {
    return now - this.#lastAnswer > this.#toleranceMs;
  }
}

/** Polls the API server. */
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
        log.debug({ err: error }, 'the API server does not respond');
      }
      return { requeueAfter: everyMs };
    }
  };
