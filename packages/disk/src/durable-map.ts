import { dirname } from 'node:path';
import { asDiskError, DiskError } from './errors.ts';
import { type DiskLogger, processLogger } from './logger.ts';
import { assertKey } from './map-frame.ts';
import { MapStorage } from './map-storage.ts';
import { type OpenOutput, openFile } from './output-file.ts';

/** The part of a clock that is needed: runs `fire` once after `ms`; the returned function cancels it. */
interface Timers {
  after(ms: number, fire: () => void): () => void;
}

/** Options of {@link DurableMap}. */
export interface DurableMapOptions {
  log?: DiskLogger;
  /** How long a change may wait, so that others can become durable with the same sync. Default: 100. */
  flushMs?: number;
  clock?: Timers;
  /** Called for every failed write. */
  onFailure?: (error: DiskError) => void;
  /**
   * What happens to a `put` that the disk refuses. `retry`, the default: it stays visible, and is written when the disk
   * works again. `undo`: the previous value comes back, so that the caller can refuse the change as well. A `delete` is
   * retried in any case.
   */
  refusedPuts?: 'retry' | 'undo';
  /** Do not rewrite the file for less garbage than this. Default: 1 MiB. */
  leastGarbage?: number;
  /** How files are opened for writing; tests inject disk errors here. */
  openOutput?: OpenOutput;
}

const FLUSH_MS = 100;
const RETRY_MS = 1000;
const LEAST_GARBAGE = 1 << 20;

const nodeTimers: Timers = {
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

/** Undefined: the key is deleted. */
type Changes = Map<string, Buffer | undefined>;

/**
 * Keys and values in one file that survives a crash. Only the keys are in memory; a read costs one access to the
 * file, usually in the page cache.
 *
 * A change is visible immediately, and durable after `flush`, or shortly after without it. Changes without an `await`
 * between them become durable together: after a crash, all of them are there or none. That is because all pending
 * changes are written as one frame, and a torn frame is discarded as a whole.
 *
 * The directory of the file should be locked (`lockDirectory`): two maps on one file would destroy it.
 *
 * @example
 * const map = await DurableMap.open('/var/lib/shop/state');
 * map.put('order/1', Buffer.from('paid'));
 * await map.flush();
 */
export class DurableMap {
  readonly #path: string;
  readonly #options: DurableMapOptions;
  readonly #storage: MapStorage;
  /** Changes that wait for the next commit. */
  #pending: Changes = new Map();
  /** Changes that are being written. */
  #inFlight: Changes = new Map();
  /** The commit that will include the pending changes, and the one that is running. */
  #next: Promise<void> | undefined;
  #current: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #trouble: DiskError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(path: string, options: DurableMapOptions, storage: MapStorage) {
    this.#path = path;
    this.#options = options;
    this.#storage = storage;
  }

  /** Opens the file, and creates it if it does not exist. Rejects with a DiskError that says what to do. */
  static async open(path: string, options: DurableMapOptions = {}): Promise<DurableMap> {
    const { openOutput = openFile, log = processLogger, leastGarbage = LEAST_GARBAGE } = options;
    try {
      const storage = await MapStorage.open({ path, log, openOutput, leastGarbage });
      return new DurableMap(path, options, storage);
    } catch (error) {
      throw asDiskError(dirname(path), error);
    }
  }

  /** Why the last write failed; undefined if it succeeded. The map tries again every second until one succeeds. */
  get trouble(): DiskError | undefined {
    return this.#trouble;
  }

  async get(key: string): Promise<Buffer | undefined> {
    for (const changes of [this.#pending, this.#inFlight]) if (changes.has(key)) return changes.get(key);
    try {
      return await this.#storage.get(key);
    } catch (error) {
      throw asDiskError(dirname(this.#path), error);
    }
  }

  has(key: string): boolean {
    for (const changes of [this.#pending, this.#inFlight])
      if (changes.has(key)) return changes.get(key) !== undefined;
    return this.#storage.has(key);
  }

  /** The keys that start with `prefix`, in no particular order. */
  keys(prefix = ''): string[] {
    const found = new Set<string>();
    for (const keys of [this.#storage.keys(), this.#inFlight.keys(), this.#pending.keys()])
      for (const key of keys) if (key.startsWith(prefix) && this.has(key)) found.add(key);
    return [...found];
  }

  /** Entries that are deleted during the iteration are skipped. */
  async *entries(prefix = ''): AsyncGenerator<[string, Buffer]> {
    for (const key of this.keys(prefix)) {
      const value = await this.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  /** Do not change the value afterwards. */
  put(key: string, value: Buffer): void {
    assertKey(key);
    this.#change(key, value);
  }

  delete(key: string): void {
    if (this.has(key)) this.#change(key, undefined);
  }

  deletePrefix(prefix: string): void {
    for (const key of this.keys(prefix)) this.#change(key, undefined);
  }

  /**
   * Resolves once all changes made so far are durable. Rejects with a DiskError if the disk fails; `refusedPuts` says
   * what happens to the changes then.
   */
  flush(): Promise<void> {
    // After a failure, also without changes: an empty frame shows whether the disk works again.
    if (this.#pending.size > 0 || this.#trouble !== undefined) {
      // A failure of the commit in progress was reported to its own callers.
      const before = this.#current?.catch(() => {}) ?? Promise.resolve();
      this.#next ??= before.then(() => this.#commit());
    }
    return this.#next ?? this.#current ?? Promise.resolve();
  }

  /** Rejects if the last changes could not be made durable. The file is closed in any case. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      if (this.#pending.size > 0 || this.#inFlight.size > 0) await this.flush();
    } finally {
      this.#cancelTimer?.();
      await this.#storage.close();
    }
  }

  #change(key: string, value: Buffer | undefined): void {
    if (this.#closing !== undefined) throw new DiskError('closed', `${this.#path} is closed`);
    this.#pending.set(key, value);
    this.#flushAfter(this.#options.flushMs ?? FLUSH_MS);
  }

  #flushAfter(ms: number): void {
    const { clock = nodeTimers } = this.#options;
    this.#cancelTimer ??= clock.after(ms, () => {
      this.#cancelTimer = undefined;
      // A failure is logged, reported to `onFailure`, and restarts the timer.
      this.flush().catch(() => {});
    });
  }

  async #commit(): Promise<void> {
    this.#current = this.#next;
    this.#next = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#inFlight = this.#pending;
    this.#pending = new Map();
    try {
      await this.#storage.commit([...this.#inFlight]);
      this.#succeeded();
    } catch (error) {
      const undo = this.#options.refusedPuts === 'undo';
      const retried = [...this.#inFlight].filter(([, value]) => !undo || value === undefined);
      // Changes that were made meanwhile are newer.
      this.#pending = new Map([...retried, ...this.#pending]);
      throw this.#failed(error);
    } finally {
      this.#inFlight = new Map();
      this.#current = undefined;
    }
  }

  #failed(cause: unknown): DiskError {
    const { log = processLogger, onFailure } = this.#options;
    const error = asDiskError(dirname(this.#path), cause);
    if (this.#trouble === undefined)
      log.error({ err: error, file: this.#path }, 'cannot write to the file; retrying');
    this.#trouble = error;
    if (this.#closing === undefined) this.#flushAfter(RETRY_MS);
    onFailure?.(error);
    return error;
  }

  #succeeded(): void {
    const { log = processLogger } = this.#options;
    if (this.#trouble !== undefined) log.warn({ file: this.#path }, 'writing to the file works again');
    this.#trouble = undefined;
  }
}
