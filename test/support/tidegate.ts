import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROGRAM } from './repository.ts';

/** A `tidegate` process as a user runs it: its output and how it exited. */
export class Tidegate {
  readonly #child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stdout = '';
  stderr = '';

  /** `command` is the program to run, for example one that was installed elsewhere. */
  constructor(args: string[], command: readonly string[] = [process.execPath, PROGRAM]) {
    const [program = '', ...fixed] = command;
    this.#child = spawn(program, [...fixed, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    await this.exited;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
}

/** `tidegate apiserver` in a directory; resolves when it has written its kubeconfig. */
export async function startApiServerProcess(
  directory: string,
  port: number,
): Promise<{ server: Tidegate; kubeconfig: string }> {
  const kubeconfig = join(directory, 'kubeconfig');
  await rm(kubeconfig, { force: true });
  const server = new Tidegate([
    'apiserver',
    ...['--state', join(directory, 'data'), '--port', String(port), '--kubeconfig', kubeconfig],
  ]);
  while (!existsSync(kubeconfig)) {
    if (!server.running) throw new Error(`tidegate apiserver did not start: ${server.stderr}`);
    await sleep(5);
  }
  return { server, kubeconfig };
}
