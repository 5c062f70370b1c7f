import type { Clock } from '../base/clock.ts';

/** Servers end a watch on time; one that is still open this much later is talking to nobody. */
const OVERTIME_MS = 30_000;

/** Bookmarks come about once a minute. Where they do come, three missing in a row mean that the line is dead. */
const SILENCE_AFTER_BOOKMARK_MS = 180_000;

/** While the first state streams in there is always something to send. */
const SILENCE_AT_START_MS = 30_000;

/** Notices that a watch is half-open: the peer is gone and TCP has not said so. Calls `onDead` at most once. */
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
