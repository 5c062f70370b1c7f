import type { Clock } from '../base/clock.ts';

/** Servers end a watch when its timeout expires. If it is still open this much later, the connection is dead. */
const OVERTIME_MS = 30_000;

/**
 * API servers send a bookmark about once a minute, but not all do. Once a watch has seen one, three missing bookmarks
 * in a row mean that the connection is dead.
 */
const SILENCE_AFTER_BOOKMARK_MS = 180_000;

/** While the initial state is streamed, the server always has something to send. */
const SILENCE_AT_START_MS = 30_000;

/** Detects a half-open watch: the peer is gone, and TCP has not noticed. Calls `onDead` at most once. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #onDead: (why: string) => void;
  readonly #cancelOvertime: () => void;
  #cancelSilence: () => void = () => {};
  #silenceMs: number | undefined;

  constructor(
    clock: Clock,
    options: { timeoutSeconds: number; initialEvents: boolean },
    onDead: (why: string) => void,
  ) {
    this.#clock = clock;
    this.#onDead = onDead;
    const limitMs = options.timeoutSeconds * 1000 + OVERTIME_MS;
    this.#cancelOvertime = clock.after(limitMs, () => this.#dead('the server did not end the watch in time'));
    if (options.initialEvents) this.#silenceMs = SILENCE_AT_START_MS;
    this.sawEvent();
  }

  /** Restarts the timer for silence. */
  sawEvent(): void {
    this.#cancelSilence();
    if (this.#silenceMs === undefined) return;
    const seconds = this.#silenceMs / 1000;
    this.#cancelSilence = this.#clock.after(this.#silenceMs, () => this.#dead(`no event for ${seconds} s`));
  }

  sawBookmark(): void {
    this.#silenceMs = SILENCE_AFTER_BOOKMARK_MS;
    this.sawEvent();
  }

  stop(): void {
    this.#cancelOvertime();
    this.#cancelSilence();
  }

  #dead(why: string): void {
    this.stop();
    this.#onDead(why);
  }
}
