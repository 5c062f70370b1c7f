import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Logger } from '@tidegate/kube';

/** A line of nginx's log: date, time, [level] pid#thread: message. */
const LINE = /^\S+ \S+ \[(\w+)\] (\d+)#\d+: (.*)$/;

const STDERR_GRACE_MS = 200;

/** The master process of nginx. It holds the ports, and replaces a worker that exits. */
export class Master {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  /** The first error that nginx logged; later ones are usually consequences. */
  #firstError: string | undefined;

  constructor(binary: string, config: string, log: Logger) {
    this.#child = spawn(binary, ['-c', config], {
      stdio: ['ignore', 'inherit', 'pipe'],
      // nginx gets none of the agent's environment, which may contain secrets.
      env: {},
    });
    createInterface({ input: this.#child.stderr! }).on('line', (line) => this.#log(line, log));
    this.#ended = this.#end();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves with the reason for the exit. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  /** Closes the listeners; the process exits after the last request. */
  quit(): void {
    this.#child.kill('SIGQUIT');
  }

  /** Exits at once. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  async #end(): Promise<string> {
    const child = this.#child;
    const closed = new Promise((resolve) => child.once('close', resolve));
    const reason = await new Promise<() => string>((resolve) => {
      child.once('error', (error) => resolve(() => error.message));
      child.once('exit', (code, signal) =>
        resolve(() => (signal === null ? (this.#firstError ?? `exit code ${code}`) : `killed by ${signal}`)),
      );
    });
    // The last lines of stderr may still be in the pipe. Workers that outlive the master keep it open: wait a little only.
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([closed, new Promise((resolve) => (timer = setTimeout(resolve, STDERR_GRACE_MS)))]);
    clearTimeout(timer);
    return reason();
  }

  #log(line: string, log: Logger): void {
    const [, level = 'error', pid = this.pid, message = line] = LINE.exec(line) ?? [];
    if (LEVELS[level] === undefined) this.#firstError ??= message;
    log[LEVELS[level] ?? 'error']({ process: Number(pid) }, message);
  }
}

const LEVELS: Readonly<Record<string, 'debug' | 'info' | 'warn' | 'error'>> = {
  debug: 'debug',
  info: 'debug',
  notice: 'info',
  warn: 'warn',
};
