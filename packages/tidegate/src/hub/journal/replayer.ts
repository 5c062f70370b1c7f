import {
  backoffDelay,
  type Clock,
  type KubeClient,
  type Link,
  type Logger,
  pause,
  type Random,
} from '@tidegate/kube';
import type { Journal } from './journal.ts';

export interface ReplayerOptions {
  journal: Journal;
  /** The node's. */
  client: KubeClient;
  upstream: Link;
  clock: Clock;
  random: Random;
  log: Logger;
}

const BACKOFF = { baseMs: 500, maxMs: 15_000 };

/** Tells the API server what the node wrote without it, whenever it is there and something waits. */
export class Replayer {
  readonly #options: ReplayerOptions;
  #wake = (): void => {};

  constructor(options: ReplayerOptions) {
    this.#options = options;
  }

  /** Something was written although the upstream is there. */
  soon(): void {
    this.#wake();
  }

  /** Until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal, upstream, clock, random, log } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      if (!upstream.online || journal.size === 0) {
        await this.#untilWanted(signal);
        continue;
      }
      try {
        const { sent, dropped } = await journal.replay(this.#options.client, signal);
        failures = 0;
        log.info({ sent, dropped }, 'told the API server what was written without it');
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'can not tell the API server what was written without it; trying again');
        await pause(clock, backoffDelay(failures++, BACKOFF, random), upstream, signal).catch(() => {}); // Rejects only when aborted: the loop ends.
      }
    }
  }

  #untilWanted(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wake = () => {};
        unsubscribe();
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      const unsubscribe = this.#options.upstream.onChange(done);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }
}
