import type { Clock } from '@tidegate/kube';

const EVERY_MS = 2_000;
/** After this many intervals without an answer, the process counts as unresponsive, and later it is given up. */
const SILENT_AFTER = 5;
const GIVE_UP_AFTER = 15;
/** How long a process may be silent until it is given up, for messages. */
export const PATIENCE_SECONDS = (EVERY_MS * GIVE_UP_AFTER) / 1000;
/** A tick that is later than this shows that this process itself did not run, because the machine is stalled. */
const LATE_MS = 1_000;

export interface LivenessHooks {
  /** Asks the process; resolves when it answers. Never called again before the previous call is settled. */
  ask(): Promise<void>;
  onSilent(): void;
  onAnswer(): void;
  /** The process has been silent for too long. Called once. */
  giveUp(): void;
}

/**
 * Asks a process at intervals whether it still works. A process can hang without exiting, for example in an endless
 * loop.
 *
 * Silence is counted in intervals and not in time: on a machine that is suspended or badly overloaded, the asking process
 * does not run either, and intervals that end late do not count. Otherwise everything would be restarted just when the
 * machine can least afford it.
 */
export class Liveness {
  readonly #hooks: LivenessHooks;
  readonly #clock: Clock;
  #cancel: () => void = () => {};
  #isAsking = false;
  #silent = 0;

  constructor(hooks: LivenessHooks, clock: Clock) {
    this.#hooks = hooks;
    this.#clock = clock;
  }

  get responding(): boolean {
    return this.#silent < SILENT_AFTER;
  }

  start(): void {
    this.#ask();
    this.#schedule();
  }

  stop(): void {
    this.#cancel();
  }

  #schedule(): void {
    const due = this.#clock.monotonic() + EVERY_MS;
    this.#cancel = this.#clock.after(EVERY_MS, () => {
      const late = this.#clock.monotonic() - due > LATE_MS;
      if (!late) this.#count();
      if (this.#silent === GIVE_UP_AFTER) {
        this.#hooks.giveUp();
        return;
      }
      if (!this.#isAsking) this.#ask();
      this.#schedule();
    });
  }

  #count(): void {
    this.#silent++;
    if (this.#silent === SILENT_AFTER) this.#hooks.onSilent();
  }

  #ask(): void {
    this.#isAsking = true;
    const settled = (answered: boolean): void => {
      this.#isAsking = false;
      if (!answered) return;
      const wasSilent = !this.responding;
      this.#silent = 0;
      if (wasSilent) this.#hooks.onAnswer();
    };
    this.#hooks.ask().then(
      () => settled(true),
      () => settled(false),
    );
  }
}
