import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, Stop } from '../../support/cluster.ts';
import type { Namespace } from './namespace.ts';

const LOG_LINES_SHOWN = 15;

/** A program that runs in a namespace. It can be stopped and started again. */
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

  /** Starts the program and waits until `ready` resolves. */
  async start(ready: () => Promise<unknown>): Promise<void> {
    const log = openSync(this.#log, 'a');
    const [program = '', ...args] = [...this.#namespace.wrapper, ...this.#command];
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    // A child that could not be started has no process ID, which is reported below.
    child.once('error', () => {});
    await eventually(`${this.#name} is ready`, async () => {
      if (!isAlive(child)) throw new Stop('the program has exited');
      await ready();
      return true;
    }).catch((error: Error) => {
      throw new Error(`${this.#name}: ${error.message}\nLast lines of its log:\n${this.lastLines()}`);
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
