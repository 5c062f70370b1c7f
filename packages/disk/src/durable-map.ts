import { dirname } from 'node:path';
import { DiskError, diskFailure } from './errors.ts';
import { type DiskLogger, processLogger } from './logger.ts';
import { assertKey } from './map-frame.ts';
import { MapStorage } from './map-storage.ts';
import { type OpenOutput, openFile } from './output-file.ts';

/** The part of a clock that is needed: runs `fire` once after `ms`; what it returns calls that off. */
interface Timers {
  after(ms: number, fire: () => void): () => void;
}

export interface DurableMapOptions {
  log?: DiskLogger;
  /** How long a change may wait for others to become durable with; 100 unless told. */
  flushMs?: number;
  clock?: Timers;
  /** Told of every write that the disk refused. Nothing is lost by it: the write is tried again. */
  onFailure?: (error: DiskError) => void;
  /** Less garbage than this is not worth rewriting the file; 1 MiB unless told. */
  leastGarbage?: number;
  /** How files are opened for writing: tests put a full disk here. */
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

/** Undefined: the key goes. */
type Changes = Map<string, Buffer | undefined>;

/**
 * Keys and values in one file that survives a crash. Only the keys are in memory.
 *
 * A change shows at once and is durable after `flush`, or a moment later by itself. What is changed without an `await`
 * in between becomes durable together: after a crash all of it is there, or nothing. The directory of the file should
 * be locked (`lockDirectory`): two maps on one file would destroy it.
 */
export class DurableMap {
  readonly #path: string;
  readonly #options: DurableMapOptions;
  readonly #storage: MapStorage;
  /** Waits for the next commit. */
  #pending: Changes = new Map();
  /** On its way to the disk. */
  #inFlight: Changes = new Map();
  /** The commit that will take what is pending, and the one that is on its way. */
  #next: Promise<void> | undefined;
  #current: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #failing = false;
  #closing: Promise<void> | undefined;

  private constructor(path: string, options: DurableMapOptions, storage: MapStorage) {
    this.#path = path;
    this.#options = options;
    this.#storage = storage;
  }

  /** Opens the file, and makes it when it is not there. Rejects with a DiskError that says what to do. */
  static async open(path: string, options: DurableMapOptions = {}): Promise<DurableMap> {
    const { openOutput = openFile, log = processLogger, leastGarbage = LEAST_GARBAGE } = options;
    try {
      const storage = await MapStorage.open({ path, log, openOutput, leastGarbage });
      return new DurableMap(path, options, storage);
    } catch (error) {
      throw asDiskError(path, error);
    }
  }

  async get(key: string): Promise<Buffer | undefined> {
    for (const changes of [this.#pending, this.#inFlight]) if (changes.has(key)) return changes.get(key);
    try {
      return await this.#storage.get(key);
    } catch (error) {
      throw asDiskError(this.#path, error);
    }
  }

  has(key: string): boolean {
    for (const changes of [this.#pending, this.#inFlight])
      if (changes.has(key)) return changes.get(key) !== undefined;
    return this.#storage.has(key);
  }

  /** The keys that begin with `prefix`, in no particular order. */
  keys(prefix = ''): string[] {
    const found = new Set<string>();
    for (const keys of [this.#storage.keys(), this.#inFlight.keys(), this.#pending.keys()])
      for (const key of keys) if (key.startsWith(prefix) && this.has(key)) found.add(key);
    return [...found];
  }

  /** What is deleted while this goes on is left out. */
  async *entries(prefix = ''): AsyncGenerator<[string, Buffer]> {
    for (const key of this.keys(prefix)) {
      const value = await this.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  /** The value must not be changed afterwards. */
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
   * Resolves once every change made so far is durable. Rejects with a DiskError when the disk refuses; the changes stay,
   * and are tried again.
   */
  flush(): Promise<void> {
    if (this.#pending.size > 0) {
      const before = this.#current?.catch(() => {}) ?? Promise.resolve();
      this.#next ??= before.then(() => this.#commit());
    }
    return this.#next ?? this.#current ?? Promise.resolve();
  }

  /** Rejects when the last changes could not be made durable; the file is closed in any case. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.flush();
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
      // A refusal is told to the log and to `onFailure`, and sets the timer again.
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
      // What came meanwhile is newer.
      this.#pending = new Map([...this.#inFlight, ...this.#pending]);
      throw this.#failed(error);
    } finally {
      this.#inFlight = new Map();
      this.#current = undefined;
    }
  }

  #failed(cause: unknown): DiskError {
    const { log = processLogger, onFailure } = this.#options;
    const error = asDiskError(this.#path, cause);
    if (!this.#failing) log.error({ err: error, file: this.#path }, 'cannot write; it is tried again');
    this.#failing = true;
    if (this.#closing === undefined) this.#flushAfter(RETRY_MS);
    onFailure?.(error);
    return error;
  }

  #succeeded(): void {
    const { log = processLogger } = this.#options;
    if (this.#failing) log.warn({ file: this.#path }, 'writing works again');
    this.#failing = false;
  }
}

const asDiskError = (path: string, error: unknown): DiskError =>
  error instanceof DiskError ? error : diskFailure(dirname(path), error);
