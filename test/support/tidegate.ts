import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestProcess } from './process.ts';
import { PROGRAM } from './repository.ts';

/** A `tidegate` process as a user runs it. */
export class Tidegate extends TestProcess {
  /** `command` is the program to run, for example one that was installed elsewhere. */
  constructor(args: string[], command: readonly string[] = [process.execPath, PROGRAM]) {
    super([...command, ...args]);
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
