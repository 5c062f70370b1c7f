import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { quotePath } from '@tidegate/disk';
import { type Clock, systemClock } from '@tidegate/kube';
import { SupervisorError } from './error.ts';
import { exitReason } from './exit-reason.ts';
import { type ServedAt, untilAnswered } from './http.ts';
import { Liveness, PATIENCE_SECONDS } from './liveness.ts';

/** How to run a supervised process. */
export interface ChildSpec {
  name: string;
  command: readonly string[];
  /** File that receives stdout and stderr. */
  log: string;
  /** Grace period between SIGTERM and SIGKILL. */
  stopMs: number;
  /** Where it must answer while it runs, besides on its IPC channel. */
  servedAt?: ServedAt;
}

/**
 * Callbacks for the lifecycle of a child. `why` is the reason of the exit and `delayMs` the delay before the
 * restart, undefined if there is none.
 */
export interface ChildHooks {
  onStart?(child: Child): void;
  onExit?(child: Child, why: string, delayMs?: number): void;
  onReadyAgain?(child: Child): void;
  /** It runs, but does not respond. It is killed and restarted if this lasts. */
  onSilent?(child: Child): void;
  onResponding?(child: Child): void;
}

/**
 * `unresponsive` means that the process runs but does not answer, `waiting` that it has exited and its restart is
 * scheduled.
 */
export interface ChildStatus {
  name: string;
  state: 'starting' | 'running' | 'unresponsive' | 'waiting' | 'stopped';
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
 * While a child runs, it is asked at intervals whether it still responds: on the IPC channel, which shows that its event
 * loop turns, and at `servedAt`. A child that does not is killed and restarted (`liveness.ts`).
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
  #retired = false;
  #failures = 0;
  #restarts = 0;
  #wasReady = false;
  #cancelRestart: () => void = () => {};
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #ended: () => void = () => {};
  #liveness: Liveness | undefined;
  #onPong: () => void = () => {};
  /** Why this process was killed because it did not respond. */
  #hung: string | undefined;

  constructor(spec: ChildSpec, hooks: ChildHooks = {}, clock: Clock = systemClock) {
    this.spec = spec;
    this.#hooks = hooks;
    this.#clock = clock;
  }

  get status(): ChildStatus {
    const { name } = this.spec;
    const isSilent = this.#state === 'running' && this.#liveness?.responding === false;
    const state = isSilent ? 'unresponsive' : this.#state;
    return { name, state, pid: this.#process?.pid, restarts: this.#restarts };
  }

  /** Resolves when the child is ready for the first time or is stopped before that; rejects when it is given up. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#spawn();
    });
  }

  /** From now on, the child is not restarted when it exits. */
  retire(): void {
    this.#retired = true;
    if (this.#state !== 'waiting') return;
    this.#cancelRestart();
    this.#state = 'stopped';
    this.#settle?.resolve();
  }

  /** Sends SIGTERM, then SIGKILL after the grace period or if it does not respond. False when SIGKILL was needed. */
  async stop(): Promise<boolean> {
    this.#stopping = true;
    this.#cancelRestart();
    this.#liveness?.stop();
    this.#settle?.resolve();
    const process = this.#process;
    if (process === undefined) {
      this.#state = 'stopped';
      return true;
    }
    // A process that does not respond does not handle a signal either.
    let graceful = this.status.state !== 'unresponsive';
    const cancel = this.#clock.after(graceful ? this.spec.stopMs : 0, () => {
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

  /** Sends SIGKILL. The child is restarted, as after any other crash. Returns its pid; undefined if it does not run. */
  crash(): number | undefined {
    const pid = this.#process?.pid;
    this.#process?.kill('SIGKILL');
    return pid;
  }

  /** Sends SIGKILL and does not wait. The child is not restarted. */
  kill(): void {
    this.#stopping = true;
    this.#cancelRestart();
    this.#process?.kill('SIGKILL');
  }

  /** A failure, for example because the disk is full, is treated like an exit. */
  #spawn(): void {
    try {
      this.#launch();
    } catch (error) {
      this.#onEnd(`cannot be started: ${(error as Error).message}`, 0);
    }
  }

  #launch(): void {
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
      if (message === 'ready') this.#onReady(process);
      if (message === 'pong') this.#onPong();
    });
    let over = false;
    const end = (why: string): void => {
      if (over) return;
      over = true;
      this.#onEnd(why, this.#clock.monotonic() - started);
    };
    process.once('error', (error) => end(error.message));
    process.once('exit', (code, signal) => {
      end(this.#hung ?? exitReason(code, signal, () => failure ?? readFrom(this.spec.log, logStart)));
    });
    this.#hooks.onStart?.(this);
  }

  /** The child may send `ready` more than once; only the first message of each run counts. */
  #onReady(process: ChildProcess): void {
    if (this.#state === 'running') return;
    this.#state = 'running';
    this.#watch(process);
    if (this.#wasReady) this.#hooks.onReadyAgain?.(this);
    this.#wasReady = true;
    this.#settle?.resolve();
  }

  #watch(process: ChildProcess): void {
    this.#liveness = new Liveness(
      {
        ask: () => this.#ask(process),
        onSilent: () => this.#hooks.onSilent?.(this),
        onAnswer: () => this.#hooks.onResponding?.(this),
        giveUp: () => {
          this.#hung = `it did not respond for ${PATIENCE_SECONDS} s and was killed`;
          process.kill('SIGKILL');
        },
      },
      this.#clock,
    );
    this.#liveness.start();
  }

  async #ask(process: ChildProcess): Promise<void> {
    const pong = new Promise<void>((resolve, reject) => {
      this.#onPong = resolve;
      process.send('ping', (error) => error !== null && reject(error));
    });
    const { servedAt } = this.spec;
    await Promise.all([pong, servedAt === undefined ? undefined : untilAnswered(servedAt)]);
  }

  /** Decides after an exit: stopped on purpose, given up, or restarted with a delay that doubles with each failure. */
  #onEnd(why: string, ranMs: number): void {
    this.#process = undefined;
    this.#liveness?.stop();
    this.#liveness = undefined;
    this.#hung = undefined;
    if (this.#stopping || this.#retired) {
      this.#state = 'stopped';
      this.#settle?.resolve();
      if (this.#stopping) this.#ended();
      else this.#hooks.onExit?.(this, why);
      return;
    }
    this.#failures = ranMs >= BACKOFF.resetMs ? 1 : this.#failures + 1;
    if (!this.#wasReady && this.#failures >= MAX_FAILED_STARTS) {
      this.#state = 'stopped';
      const { name, log } = this.spec;
      this.#settle?.reject(new SupervisorError(`${name} failed to start: ${why} (log: ${quotePath(log)})`));
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
