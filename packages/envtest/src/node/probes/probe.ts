import type { Clock } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import type { CheckOutcome } from './check.ts';
import { afterOutcome, initialState, type ProbeKind, type ProbeState } from './result.ts';

/** Options of one probe of a container. */
export interface ProbeOptions {
  kind: ProbeKind;
  timing: Pick<core.Probe, 'initialDelaySeconds' | 'periodSeconds' | 'successThreshold' | 'failureThreshold'>;
  /** How long the container has already been running. */
  runningMs: number;
  check(): Promise<CheckOutcome>;
  /** Called for every failed check, before `onResultChange`. */
  onFailure(output: string): void;
  onResultChange(): void;
  clock: Clock;
}

/** Checks a container periodically, from construction until `close`. */
export class Probe {
  readonly #options: ProbeOptions;
  #state: ProbeState;
  #closed = false;
  #cancel: () => void;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#state = initialState(options.kind);
    const delay = (options.timing.initialDelaySeconds ?? 0) * 1000 - options.runningMs;
    this.#cancel = options.clock.after(Math.max(0, delay), () => void this.#look());
  }

  get result(): ProbeState['result'] {
    return this.#state.result;
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    const { check, timing, clock, onFailure, onResultChange } = this.#options;
    const begun = clock.monotonic();
    const { ok, output } = await check();
    if (this.#closed) return;
    const before = this.#state.result;
    this.#state = afterOutcome(this.#state, ok, timing);
    const period = (timing.periodSeconds ?? 10) * 1000;
    // A slow check does not shift the following ones.
    const wait = Math.max(0, period - (clock.monotonic() - begun));
    this.#cancel = clock.after(wait, () => void this.#look());
    if (!ok) onFailure(output);
    if (this.#state.result !== before) onResultChange();
  }
}
