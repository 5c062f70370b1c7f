import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { eventually, Stop } from '../../support/cluster.ts';
import type { Namespace } from './namespace.ts';

const LOG_LINES_SHOWN = 15;

/** A program that runs in a namespace until it is stopped, and can be started again. */
export class Program {
  readonly #namespace: Namespace;
  readonly #command: readonly string[];
  readonly #log: string;
  #child: ChildProcess | undefined;

  constructor(
    namespace: Namespace,
    directory: string,
    command: readonly string[],
    name = basename(command[0]!),
  ) {
    this.#namespace = namespace;
    this.#command = command;
    this.#log = join(directory, `${name}.log`);
  }

  /** Starts it and waits until `ready` gives no error. */
  async start(ready: () => Promise<unknown>): Promise<void> {
    const log = openSync(this.#log, 'a');
    const [program = '', ...args] = [...this.#namespace.wrapper, ...this.#command];
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    child.once('error', () => {
      // Told below: a child that could not be started has no process id.
    });
    await eventually(`${this.#command[0]} is ready`, async () => {
      if (!isAlive(child)) throw new Stop(`${this.#command[0]} ended:\n${this.lastLines()}`);
      await ready();
      return true;
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || !isAlive(child)) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  lastLines(): string {
    return readFileSync(this.#log, 'utf8').split('\n').slice(-LOG_LINES_SHOWN).join('\n');
  }
}

const isAlive = (child: ChildProcess): boolean =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;
