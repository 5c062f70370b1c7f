import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, Stop } from '../../support/cluster.ts';
import type { Namespace } from './namespace.ts';

const LOG_LINES_SHOWN = 15;

/** A program that runs in a namespace until it is stopped, and can be started again. */
export class Program {
  readonly #namespace: Namespace;
  readonly #command: readonly string[];
  readonly #name: string;
  readonly #log: string;
  #child: ChildProcess | undefined;

  constructor(namespace: Namespace, directory: string, command: readonly string[], name: string) {
    this.#namespace = namespace;
    this.#command = command;
    this.#name = name;
    this.#log = join(directory, `${name}.log`);
  }

  /** Starts it and waits until `ready` gives no error. */
  async start(ready: () => Promise<unknown>): Promise<void> {
    const log = openSync(this.#log, 'a');
    const [program = '', ...args] = [...this.#namespace.wrapper, ...this.#command];
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    // Told below: a child that could not be started has no process id.
    child.once('error', () => {});
    await eventually(`${this.#name} is ready`, async () => {
      if (!isAlive(child)) throw new Stop('it ended');
      await ready();
      return true;
    }).catch((error: Error) => {
      throw new Error(`${this.#name}: ${error.message}\nIts last words:\n${this.lastLines()}`);
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
