import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Clock, systemClock } from '@tidegate/kube';
import { SupervisorError } from './error.ts';
import { lastLine } from './last-line.ts';

/** How to run a supervised process. */
export interface ChildSpec {
  name: string;
  command: readonly string[];
  /** File that receives stdout and stderr. */
  log: string;
  /** Grace period between SIGTERM and SIGKILL. */
  stopMs: number;
}

/**
 * Callbacks for the lifecycle of a child. `why` is the reason of the exit and `delayMs` the delay before the
 * restart.
 */
export interface ChildHooks {
  onStart?(child: Child): void;
  onExit?(child: Child, why: string, delayMs: number): void;
  onReadyAgain?(child: Child): void;
}

/** `waiting` means that the process has exited and its restart is scheduled. */
export interface ChildStatus {
  name: string;
  state: 'starting' | 'running' | 'waiting' | 'stopped';
  pid?: number;
  restarts: number;
}

const BACKOFF = { baseMs: 200, maxMs: 10_000, resetMs: 30_000 };
/** A child that exits this often without ever having been ready is given up. */
const MAX_FAILED_STARTS = 5;

/**
 * A supervised process: it is restarted with exponential backoff whenever it exits, until `stop` or `kill`.
 *
 * The child sends `ready` over its IPC channel when it is able to serve. Until the first `ready`, repeated exits
 * mean a configuration error, and the start fails. After it, the child is restarted forever: the cause of the exit
 * is then something that can pass, for example a kill by the user. A run of at least `resetMs` resets the backoff.
 *
 * The IPC channel also ends the child when the supervisor dies: each subcommand exits when the channel closes.
 */
export class Child {
  readonly spec: ChildSpec;
  readonly #hooks: ChildHooks;
  readonly #clock: Clock;
  #process: ChildProcess | undefined;
  #state: ChildStatus['state'] = 'stopped';
  #stopping = false;
  #failures = 0;
  #restarts = 0;
  #wasReady = false;
  #cancelRestart: () => void = () => {};
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #ended: () => void = () => {};

  constructor(spec: ChildSpec, hooks: ChildHooks = {}, clock: Clock = systemClock) {
    this.spec = spec;
    this.#hooks = hooks;
    this.#clock = clock;
  }

  get status(): ChildStatus {
    const { name } = this.spec;
    return { name, state: this.#state, pid: this.#process?.pid, restarts: this.#restarts };
  }

  /** Resolves when the child is ready for the first time or is stopped before that; rejects when it is given up. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#spawn();
    });
  }

  /** Sends SIGTERM, then SIGKILL after the grace period. Returns false when SIGKILL was needed. */
  async stop(): Promise<boolean> {
    this.#stopping = true;
    this.#cancelRestart();
    this.#settle?.resolve();
    const process = this.#process;
    if (process === undefined) {
      this.#state = 'stopped';
      return true;
    }
    let graceful = true;
    const cancel = this.#clock.after(this.spec.stopMs, () => {
      graceful = false;
      process.kill('SIGKILL');
    });
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    process.kill('SIGTERM');
    await ended;
    cancel();
    return graceful;
  }

  /** Sends SIGKILL and does not wait. The child is not restarted. */
  kill(): void {
    this.#stopping = true;
    this.#cancelRestart();
    this.#process?.kill('SIGKILL');
  }

  #spawn(): void {
    const [file = '', ...args] = this.spec.command;
    const log = openSync(this.spec.log, 'a', 0o600);
    const logStart = fstatSync(log).size;
    const started = this.#clock.monotonic();
    this.#state = 'starting';
    // The child gets its own session, so that Ctrl-C in the terminal reaches only the supervisor, which stops its
    // children in order.
    const process = spawn(file, args, { stdio: ['ignore', log, log, 'ipc'], detached: true });
    closeSync(log);
    this.#process = process;
    let failure: string | undefined;
    process.on('message', (message) => {
      failure = failureIn(message) ?? failure;
      if (message === 'ready') this.#onReady();
    });
    let over = false;
    const end = (why: string): void => {
      if (over) return;
      over = true;
      this.#onEnd(why, this.#clock.monotonic() - started);
    };
    process.once('error', (error) => end(error.message));
    process.once('exit', (code, signal) => {
      if (signal !== null) return end(`killed by ${signal}`);
      const lastWords = failure ?? lastLine(readFrom(this.spec.log, logStart));
      end(lastWords ?? `exited with code ${code}`);
    });
    this.#hooks.onStart?.(this);
  }

  /** The child may send `ready` more than once; only the first message of each run counts. */
  #onReady(): void {
    if (this.#state === 'running') return;
    this.#state = 'running';
    if (this.#wasReady) this.#hooks.onReadyAgain?.(this);
    this.#wasReady = true;
    this.#settle?.resolve();
  }

  /** Decides after an exit: stopped on purpose, given up, or restarted with a delay that doubles with each failure. */
  #onEnd(why: string, ranMs: number): void {
    this.#process = undefined;
    if (this.#stopping) {
      this.#state = 'stopped';
      this.#ended();
      return;
    }
    this.#failures = ranMs >= BACKOFF.resetMs ? 1 : this.#failures + 1;
    if (!this.#wasReady && this.#failures >= MAX_FAILED_STARTS) {
      this.#state = 'stopped';
      const { name, log } = this.spec;
      this.#settle?.reject(new SupervisorError(`${name} failed to start: ${why} (log: ${log})`));
      return;
    }
    this.#state = 'waiting';
    const delayMs = Math.min(BACKOFF.maxMs, BACKOFF.baseMs * 2 ** (this.#failures - 1));
    this.#cancelRestart = this.#clock.after(delayMs, () => {
      this.#restarts++;
      this.#spawn();
    });
    this.#hooks.onExit?.(this, why, delayMs);
  }
}

/** A child reports why it fails on the channel too: its log may be on a disk that is full. */
function failureIn(message: unknown): string | undefined {
  const failure = (message as { failure?: unknown } | null)?.failure;
  return typeof failure === 'string' ? failure : undefined;
}

/** The last 8 KiB of what the file holds after offset `start`. */
function readFrom(path: string, start: number): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const buffer = Buffer.alloc(Math.min(8192, Math.max(0, size - start)));
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString();
  } finally {
    closeSync(file);
  }
}
