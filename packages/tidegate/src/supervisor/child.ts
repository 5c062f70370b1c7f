import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Clock, systemClock } from '@tidegate/kube';
import { SupervisorError } from './error.ts';
import { lastLine } from './last-line.ts';

export interface ChildSpec {
  name: string;
  command: readonly string[];
  /** Where its output goes. */
  log: string;
  /** How long it may take to end when asked. */
  stopMs: number;
}

/** Told as it happens; `why` and `delayMs` tell what comes next. */
export interface ChildHooks {
  onStart?(child: Child): void;
  onExit?(child: Child, why: string, delayMs: number): void;
  onBack?(child: Child): void;
}

export interface ChildStatus {
  name: string;
  state: 'starting' | 'running' | 'waiting' | 'stopped';
  pid?: number;
  restarts: number;
}

const BACKOFF = { baseMs: 200, maxMs: 10_000, resetMs: 30_000 };
/** So many ends before it was ready once mean that it never will be. */
const HOPELESS = 5;

/** One process that is started again whenever it ends, until it is stopped. It says `ready` over its IPC channel. */
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

  /** Resolves when it is ready for the first time, or stopped before; rejects when it can never be. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#spawn();
    });
  }

  /** Asks it to end, and ends it by force when it takes too long. False when force was needed. */
  async stop(): Promise<boolean> {
    this.#stopping = true;
    this.#cancelRestart();
    this.#settle?.resolve();
    const process = this.#process;
    if (process === undefined) {
      this.#state = 'stopped';
      return true;
    }
    let willing = true;
    const cancel = this.#clock.after(this.spec.stopMs, () => {
      willing = false;
      process.kill('SIGKILL');
    });
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    process.kill('SIGTERM');
    await ended;
    cancel();
    return willing;
  }

  /** At once, and without a way back. */
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
    // A session of its own: Ctrl-C in the terminal is for the supervisor, which stops its children in order.
    const process = spawn(file, args, { stdio: ['ignore', log, log, 'ipc'], detached: true });
    closeSync(log);
    this.#process = process;
    process.on('message', (message) => {
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
      const said = lastLine(readFrom(this.spec.log, logStart));
      end(said === undefined ? `ended with exit code ${code}` : said);
    });
    this.#hooks.onStart?.(this);
  }

  #onReady(): void {
    if (this.#state === 'running') return;
    this.#state = 'running';
    if (this.#wasReady) this.#hooks.onBack?.(this);
    this.#wasReady = true;
    this.#settle?.resolve();
  }

  #onEnd(why: string, ranMs: number): void {
    this.#process = undefined;
    if (this.#stopping) {
      this.#state = 'stopped';
      this.#ended();
      return;
    }
    this.#failures = ranMs >= BACKOFF.resetMs ? 1 : this.#failures + 1;
    if (!this.#wasReady && this.#failures >= HOPELESS) {
      this.#state = 'stopped';
      const { name, log } = this.spec;
      this.#settle?.reject(new SupervisorError(`${name} can not start: ${why} (its log is ${log})`));
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

/** The end of what was written behind `start`. */
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
