import type { DiskError, DiskLogger } from '@tidegate/disk';

interface DiskStateOptions {
  log: DiskLogger;
  /** Starts to try whether the disk accepts writes. The outcome comes back through `note`. */
  probe(): void;
  onRecovered(): void;
}

const PROBE_MS = 1000;

/**
 * Whether the disk accepts writes. After a failed write, it probes the disk until a write succeeds, so that health checks
 * report the recovery even if no client writes. Only the two transitions are logged: a full disk fails every write.
 */
export class DiskState {
  readonly #options: DiskStateOptions;
  #trouble: DiskError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: DiskStateOptions) {
    this.#options = options;
  }

  /** Why the last write or probe failed; undefined if it succeeded. */
  get trouble(): DiskError | undefined {
    return this.#trouble;
  }

  /** Records the outcome of a write or a probe; undefined means that it succeeded. */
  note(error: DiskError | undefined): void {
    const { log, onRecovered } = this.#options;
    const before = this.#trouble;
    this.#trouble = error;
    if (error === undefined) {
      if (before === undefined) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      log.warn({}, 'the store accepts writes again');
      onRecovered();
      return;
    }
    if (before === undefined)
      log.error({ err: error }, 'the store refuses writes until the disk accepts them');
    this.#probeLater();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #probeLater(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#options.probe();
    }, PROBE_MS);
  }
}
