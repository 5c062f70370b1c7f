import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, Stop } from '../../support/cluster.ts';
import { TestProcess } from '../../support/process.ts';

const LOG_LINES_SHOWN = 15;

/** Where a program runs, for example a network namespace. */
export interface Place {
  /** Prefix for a command that runs there. */
  readonly wrapper: readonly string[];
  /** Whether the process of the command is a child of the process that the prefix starts. */
  readonly wrapperForks?: boolean;
}

/** A program that runs in a namespace. It can be stopped and started again. */
export class Program {
  readonly #namespace: Place;
  readonly #command: readonly string[];
  readonly #name: string;
  readonly #log: string;
  #child: TestProcess | undefined;

  constructor(namespace: Place, directory: string, command: readonly string[], name: string) {
    this.#namespace = namespace;
    this.#command = command;
    this.#name = name;
    this.#log = join(directory, `${name}.log`);
  }

  /** Starts the program and waits until `ready` resolves. */
  async start(ready: () => Promise<unknown>): Promise<void> {
    const log = openSync(this.#log, 'a');
    const child = new TestProcess([...this.#namespace.wrapper, ...this.#command], { log });
    closeSync(log);
    this.#child = child;
    await eventually(`${this.#name} is ready`, async () => {
      if (!child.running) throw new Stop('the program has exited');
      await ready();
      return true;
    }).catch((error: Error) => {
      throw new Error(`${this.#name}: ${error.message}\nLast lines of its log:\n${this.lastLines()}`);
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child?.running) return;
    // A wrapper that has a child does not forward signals, but ends with its child.
    if (this.#namespace.wrapperForks) for (const pid of childrenOf(child.pid)) signalIfAlive(pid, signal);
    else child.signal(signal);
    await child.exited;
  }

  lastLines(): string {
    return readFileSync(this.#log, 'utf8').split('\n').slice(-LOG_LINES_SHOWN).join('\n');
  }
}

/** Empty if the process has just ended. */
export function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** A process may end between the moment that it is found and the signal. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** The kernel has two words for it: a missing file below /proc, and a missing process. */
const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ESRCH'].includes(`${(error as NodeJS.ErrnoException).code}`);
