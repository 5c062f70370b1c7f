/**
 * Starts processes for tests. Every test uses this instead of `node:child_process`: the processes end with the test run
 * (see test/guard), output is kept for error messages, and a process that exits early is not an unhandled error.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { StringDecoder } from 'node:string_decoder';

/** How a process ended: with an exit code, or by a signal. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A finished process. */
export interface Finished extends Exit {
  stdout: string;
  stderr: string;
  /** stdout and stderr in the order in which they were received. */
  output: string;
}

export interface ProcessOptions {
  cwd?: string;
  /** The whole environment; that of the test by default. */
  env?: NodeJS.ProcessEnv;
  /** Written to standard input, which is then closed. Without it, standard input is empty. */
  input?: string;
  /** A file descriptor for stdout and stderr; by default they are kept in memory. */
  log?: number;
  /** Keeps standard input open for `write`. */
  interactive?: boolean;
  /** Opens a channel for messages of a Node program. */
  ipc?: boolean;
  /** Runs the process in a session and process group of its own. */
  detached?: boolean;
  /** The user and group of the process; only root can change them. */
  uid?: number;
  gid?: number;
}

/** A running process, its output, and how it ended. */
export class TestProcess {
  /** Resolves when the process has ended and all output is received; rejects when the program cannot be started. */
  readonly exited: Promise<Exit>;
  stdout = '';
  stderr = '';
  output = '';
  readonly #child: ChildProcess;
  readonly #command: readonly string[];
  readonly #waiting: (() => void)[] = [];

  constructor(command: readonly string[], options: ProcessOptions = {}) {
    this.#command = command;
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, spawnOptions(options));
    this.#keep('stdout');
    this.#keep('stderr');
    // A process may exit before it has read its input. Its exit code and output explain that better than EPIPE.
    this.#child.stdin?.on('error', () => {});
    if (!options.interactive) this.#child.stdin?.end(options.input ?? '');
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', (error) => {
        // Errors of a running process, for example of a signal, do not end it.
        if (this.#child.pid === undefined) reject(error);
      });
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
    // Not every test waits for the end.
    this.exited.catch(() => {});
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves with the next message of a program that was started with `ipc`. */
  message(): Promise<unknown> {
    return new Promise((resolve) => this.#child.once('message', resolve));
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  endInput(text = ''): void {
    this.#child.stdin?.end(text);
  }

  /** Waits until the output satisfies a condition; rejects when the process ends before that. */
  async until(condition: (process: this) => boolean): Promise<void> {
    const over = this.exited.then(
      () => true,
      () => true,
    );
    while (!condition(this)) {
      const more = new Promise<false>((resolve) => this.#waiting.push(() => resolve(false)));
      if ((await Promise.race([more, over])) && !condition(this))
        throw new Error(`${shortened(this.#command)} ended early: ${this.output}`);
    }
  }

  /** Sends a signal, and waits for the end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal);
    await this.exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #keep(stream: 'stdout' | 'stderr'): void {
    // A chunk may end within a character.
    const decoder = new StringDecoder();
    this.#child[stream]?.on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk);
      this[stream] += text;
      this.output += text;
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }
}

/** Runs a program until it ends. */
export async function finish(command: readonly string[], options?: ProcessOptions): Promise<Finished> {
  const process = new TestProcess(command, options);
  const { code, signal } = await process.exited;
  const { stdout, stderr, output } = process;
  return { code, signal, stdout, stderr, output };
}

/** Runs a program until it ends. Resolves to its stdout; rejects with all output if it fails. */
export async function run(command: readonly string[], options?: ProcessOptions): Promise<string> {
  const { code, signal, stdout, output } = await finish(command, options);
  if (code === 0) return stdout;
  throw new Error(`${shortened(command)}: exited with ${signal ?? code}: ${output}`);
}

const SHOWN = 300;
const shortened = (command: readonly string[]): string => command.join(' ').slice(0, SHOWN);

function spawnOptions({ env, input, log, interactive, ipc, ...passedOn }: ProcessOptions): SpawnOptions {
  const stdin = interactive || input !== undefined ? 'pipe' : 'ignore';
  const output = log ?? 'pipe';
  return {
    ...passedOn,
    // The directory identifies the processes of a test run.
    env: env === undefined ? process.env : { TMPDIR: tmpdir(), ...env },
    stdio: ipc ? [stdin, output, output, 'ipc'] : [stdin, output, output],
  };
}

/**
 * Whether a process runs. One that has ended stays in the table of processes until its parent asks for its exit code, for ever
 * in a container whose first process does not do that.
 */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
