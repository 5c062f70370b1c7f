import {
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  unwatchFile,
  watch,
  watchFile,
  writeSync,
} from 'node:fs';
import type { Clock, Logger } from '@tidegate/kube';
import type { AttemptFiles } from './files.ts';
import { Times } from './times.ts';

export interface OpenLogOptions {
  files: AttemptFiles;
  /** A file this long is moved aside. */
  maxBytes: number;
  clock: Clock;
  log: Logger;
}

/** A busy process writes more often than anybody needs to know. */
const LOOK_EVERY_MS = 50;
const POLL_MS = 500;

/** The log of a container that runs: sees it grow, keeps the times, moves it aside when it is large. */
export class OpenLog {
  readonly files: AttemptFiles;
  readonly #options: OpenLogOptions;
  readonly #unwatch: () => void;
  readonly #waiting = new Set<() => void>();
  #times: Times;
  #generation = 0;
  #ended = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #cancelLook: (() => void) | undefined;

  /** The file must exist. */
  constructor(options: OpenLogOptions) {
    this.#options = options;
    this.files = options.files;
    this.#times = new Times(options.files.current.times);
    this.#unwatch = onChange(options.files.current.output, () => this.#lookSoon());
    this.look();
  }

  get times(): Times {
    return this.#times;
  }

  /** Counts how often the file has begun anew. */
  get generation(): number {
    return this.#generation;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves at the next change: more output, a new file, the end; or when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted || this.#ended) done();
    });
  }

  /** Takes note of what was written since. */
  look(): void {
    if (this.#ended) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#lookedAt = this.#options.clock.monotonic();
    const { size } = statSync(this.files.current.output);
    if (size > this.#times.seen) {
      this.#times.record(size, this.#options.clock.now());
      this.#tell();
    }
    if (size >= this.#options.maxBytes) this.#rotate();
  }

  end(): void {
    if (this.#ended) return;
    this.#unwatch();
    try {
      this.look();
    } finally {
      this.#ended = true;
      this.#cancelLook?.();
      this.#tell();
    }
  }

  #tell(): void {
    for (const done of [...this.#waiting]) done();
  }

  #lookSoon(): void {
    if (this.#ended || this.#cancelLook !== undefined) return;
    const wait = this.#lookedAt + LOOK_EVERY_MS - this.#options.clock.monotonic();
    if (wait <= 0) this.#lookSafely();
    else this.#cancelLook = this.#options.clock.after(wait, () => this.#lookSafely());
  }

  /** The pod's directory may be removed under us, or the disk be full. */
  #lookSafely(): void {
    try {
      this.look();
    } catch (err) {
      const file = this.files.current.output;
      this.#options.log.warn({ err, file }, 'the log of a container can not be followed');
    }
  }

  /**
   * The process keeps its file open, so the file itself must stay: its contents are copied, then it is emptied. All of
   * it without giving way to anything else, because what is written between the two would be lost.
   */
  #rotate(): void {
    const { current, rotated } = this.files;
    copyFileSync(current.output, rotated.output);
    const from = openSync(current.output, 'r+');
    const to = openSync(rotated.output, 'a');
    try {
      const rest = Buffer.alloc(64 * 1024);
      let copied = fstatSync(to).size;
      for (let count = -1; count !== 0; copied += count) {
        count = readSync(from, rest, 0, rest.length, copied);
        writeSync(to, rest, 0, count);
      }
      ftruncateSync(from, 0);
      if (copied > this.#times.seen) this.#times.record(copied, this.#options.clock.now());
    } finally {
      closeSync(from);
      closeSync(to);
    }
    renameSync(current.times, rotated.times);
    this.#times = new Times(current.times);
    this.#generation++;
    this.#tell();
  }
}

function onChange(file: string, changed: () => void): () => void {
  try {
    const watcher = watch(file, changed);
    // Whatever goes wrong with it, `look` finds out when it is asked next.
    watcher.on('error', changed);
    return () => watcher.close();
  } catch {
    // The user's share of watches (fs.inotify.max_user_watches) is used up.
    watchFile(file, { interval: POLL_MS }, changed);
    return () => unwatchFile(file);
  }
}
