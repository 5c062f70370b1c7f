import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Logger } from '@tidegate/kube';

/** As nginx writes them: date, time, [level] pid#thread: what happened. */
const LINE = /^\S+ \S+ \[(\w+)\] (\d+)#\d+: (.*)$/;

const LAST_WORDS_MS = 200;

/** The master process of nginx. It holds the ports, and puts another worker in the place of one that is gone. */
export class Master {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  /** The first thing; what follows from it says less. */
  #wrong: string | undefined;

  constructor(binary: string, config: string, log: Logger) {
    this.#child = spawn(binary, ['-c', config], {
      stdio: ['ignore', 'inherit', 'pipe'],
      // Nothing of what the agent knows.
      env: {},
    });
    createInterface({ input: this.#child.stderr! }).on('line', (line) => this.#log(line, log));
    this.#ended = this.#end();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves with the reason. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  /** Takes no new connections, and ends when the last request has. */
  quit(): void {
    this.#child.kill('SIGQUIT');
  }

  /** Ends at once. */
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
        resolve(() =>
          signal === null ? (this.#wrong ?? `it ended with code ${code}`) : `it was ended by ${signal}`,
        ),
      );
    });
    // What it said last is still on its way. Workers that outlive it keep the line open.
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([closed, new Promise((resolve) => (timer = setTimeout(resolve, LAST_WORDS_MS)))]);
    clearTimeout(timer);
    return reason();
  }

  #log(line: string, log: Logger): void {
    const [, level = 'error', pid = this.pid, message = line] = LINE.exec(line) ?? [];
    if (LEVELS[level] === undefined) this.#wrong ??= message;
    log[LEVELS[level] ?? 'error']({ process: Number(pid) }, message);
  }
}

const LEVELS: Readonly<Record<string, 'debug' | 'info' | 'warn' | 'error'>> = {
  debug: 'debug',
  info: 'debug',
  notice: 'info',
  warn: 'warn',
};
