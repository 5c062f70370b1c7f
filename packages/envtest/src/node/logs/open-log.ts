import {
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unwatchFile,
  watch,
  watchFile,
  writeSync,
} from 'node:fs';
import { isDiskErrno } from '@tidegate/disk';
import type { Clock, Logger } from '@tidegate/kube';
import type { AttemptFiles } from './files.ts';
import { Times } from './times.ts';

/** Options of {@link OpenLog}. */
export interface OpenLogOptions {
  files: AttemptFiles;
  /** A file of this size is rotated. */
  maxBytes: number;
  clock: Clock;
  log: Logger;
}

/** Limits how often a busy log is checked. */
const LOOK_EVERY_MS = 50;
const POLL_MS = 500;

/** The log of a running container: watches it grow, records the times, and rotates it. */
export class OpenLog {
  readonly files: AttemptFiles;
  readonly #options: OpenLogOptions;
  readonly #unwatch: () => void;
  readonly #waiting = new Set<() => void>();
  #times: Times;
  #generation = 0;
  #ended = false;
  /** After a failure, the next attempt to rotate waits until the file has this size. */
  #rotateFrom = 0;
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

  /** How often the file has been rotated. */
  get generation(): number {
    return this.#generation;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves at the next change (more output, a rotation, the end) or when the signal is aborted. */
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

  /** Records how much was written since the last look. */
  look(): void {
    if (this.#ended) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#lookedAt = this.#options.clock.monotonic();
    const { size } = statSync(this.files.current.output);
    if (size > this.#times.seen) {
      this.#times.record(size, this.#options.clock.now());
      this.#notify();
    }
    if (size >= Math.max(this.#options.maxBytes, this.#rotateFrom)) this.#rotateIfPossible();
  }

  /** Records the rest of the output and wakes all followers a last time. */
  end(): void {
    if (this.#ended) return;
    this.#unwatch();
    try {
      this.look();
    } finally {
      this.#ended = true;
      this.#cancelLook?.();
      this.#notify();
    }
  }

  #notify(): void {
    for (const done of [...this.#waiting]) done();
  }

  /** Coalesces change events: at most one look every LOOK_EVERY_MS. */
  #lookSoon(): void {
    if (this.#ended || this.#cancelLook !== undefined) return;
    const wait = this.#lookedAt + LOOK_EVERY_MS - this.#options.clock.monotonic();
    if (wait <= 0) this.#lookSafely();
    else this.#cancelLook = this.#options.clock.after(wait, () => this.#lookSafely());
  }

  /** The directory of the pod may be removed at any time, and the disk may be full. */
  #lookSafely(): void {
    try {
      this.look();
    } catch (err) {
      const file = this.files.current.output;
      this.#options.log.warn({ err, file }, 'cannot follow the log of a container');
    }
  }

  /** Without space for the copy, the log stays readable and grows, and the previous copy is kept. */
  #rotateIfPossible(): void {
    const { files, maxBytes, log } = this.#options;
    try {
      this.#rotate();
      this.#rotateFrom = 0;
    } catch (err) {
      if (!isDiskErrno(err)) throw err;
      rmSync(draftOf(files), { force: true });
      this.#rotateFrom = this.#times.seen + maxBytes / 10;
      log.warn({ err, file: files.current.output }, 'cannot rotate the log of a container; it keeps growing');
    }
  }

  /**
   * The process keeps its file open, so the file itself must stay: its contents are copied, and then it is
   * truncated. All calls are synchronous, to keep the time between the last copy and the truncation short: output
   * written in between is lost.
   */
  #rotate(): void {
    const { current, rotated } = this.files;
    const draft = draftOf(this.files);
    this.#times.write();
    copyFileSync(current.output, draft);
    const from = openSync(current.output, 'r+');
    const to = openSync(draft, 'a');
    try {
      const rest = Buffer.alloc(64 * 1024);
      let copied = fstatSync(to).size;
      for (let count = -1; count !== 0; copied += count) {
        count = readSync(from, rest, 0, rest.length, copied);
        for (let written = 0; written < count; ) written += writeSync(to, rest, written, count - written);
      }
      renameSync(draft, rotated.output);
      ftruncateSync(from, 0);
      if (copied > this.#times.seen) this.#times.record(copied, this.#options.clock.now());
    } finally {
      closeSync(from);
      closeSync(to);
    }
    renameSync(current.times, rotated.times);
    this.#times = new Times(current.times);
    this.#generation++;
    this.#notify();
  }
}

/** A copy that is not complete yet. */
const draftOf = ({ rotated }: AttemptFiles): string => `${rotated.output}.tmp`;

function onChange(file: string, changed: () => void): () => void {
  try {
    const watcher = watch(file, changed);
    // `look` finds out what is wrong at the next read.
    watcher.on('error', changed);
    return () => watcher.close();
  } catch {
    // The limit of watches of this user (fs.inotify.max_user_watches) is reached; poll instead.
    watchFile(file, { interval: POLL_MS }, changed);
    return () => unwatchFile(file);
  }
}
