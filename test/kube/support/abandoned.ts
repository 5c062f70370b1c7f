import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Namespace } from './namespace.ts';

const PREFIX = 'tidegate-kube';

/** A name with the process ID. It separates concurrent runs, and shows later whether the run still exists. */
export const nameOfOurs = (role: string): string => `${PREFIX}-${process.pid}-${role}`;

/** Removes the namespaces and directories of runs that were killed. */
export async function removeAbandoned(): Promise<void> {
  for (const namespace of await Namespace.all()) if (isAbandoned(namespace.name)) await namespace.remove();
  for (const entry of await readdir(tmpdir()))
    if (isAbandoned(entry)) await rm(join(tmpdir(), entry), { recursive: true, force: true });
}

function isAbandoned(name: string): boolean {
  const [, owner] = new RegExp(`^${PREFIX}-(\\d+)-`).exec(name) ?? [];
  return owner !== undefined && !isRunning(Number(owner));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
