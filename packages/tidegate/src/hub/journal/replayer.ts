import {
  backoffDelay,
  type Clock,
  type ConnectionState,
  type KubeClient,
  type Logger,
  pause,
  type Random,
} from '@tidegate/kube';
import type { Journal } from './journal.ts';

export interface ReplayerOptions {
  journal: Journal;
  /** A client with the credentials of the node. */
  client: KubeClient;
  upstream: ConnectionState;
  clock: Clock;
  random: Random;
  log: Logger;
}

const BACKOFF = { baseMs: 500, maxMs: 15_000 };

/** Replays the journal whenever an API server is reachable and the journal is not empty. */
export class Replayer {
  readonly #options: ReplayerOptions;
  #wake = (): void => {};

  constructor(options: ReplayerOptions) {
    this.#options = options;
  }

  /**
   * Ends the wait of `run`. Call it after a write to the journal while an API server is reachable: no change
   * of the upstream will end the wait.
   */
  soon(): void {
    this.#wake();
  }

  /** Replays until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal, upstream, clock, random, log } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      if (!upstream.online || journal.size === 0) {
        await this.#untilWoken(signal);
        continue;
      }
      try {
        const { sent, dropped } = await journal.replay(this.#options.client, signal);
        failures = 0;
        log.info({ sent, dropped }, 'replayed the journal');
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'cannot replay the journal; retrying');
        // Rejects only when aborted, which ends the loop.
        await pause(clock, backoffDelay(failures++, BACKOFF, random), upstream, signal).catch(() => {});
      }
    }
  }

  /** Resolves when the upstream changes, when `soon` is called, or when the signal is aborted. */
  #untilWoken(signal: AbortSignal): Promise<void> {
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
