import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isErrno, writeFileAtomically } from '@tidegate/disk';
import { CONTROL_SOCKET, PID_FILE } from './config.ts';

/**
 * Where nginx keeps its socket and what it buffers, while it runs. Not below the driver's directory: the path of a
 * socket may have some hundred bytes only, and workers that are another user have to reach their buffers.
 */
export function makeRuntimeDirectory(directory: string): string {
  const runtime = mkdtempSync(join(tmpdir(), 'tidegate-nginx-'));
  // nginx lets everybody open its sockets: who can not enter the folder can not.
  mkdirSync(join(runtime, CONTROL_SOCKET, '..'), { mode: 0o700 });
  mkdirSync(join(runtime, 'temporary'), { mode: 0o711 });
  chmodSync(runtime, 0o711);
  writeFileAtomically(noteIn(directory), runtime, 0o600);
  return runtime;
}

/** Ends an nginx whose agent was killed before it could, and takes away what it left: its ports are wanted. */
export async function endFormer(directory: string): Promise<void> {
  const runtime = read(noteIn(directory));
  if (runtime === undefined) return;
  const pid = Number(read(join(runtime, PID_FILE)));
  if (pid > 0 && (await isNginx('master', pid))) {
    process.kill(pid, 'SIGTERM');
    while (await isNginx('master', pid)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  removeRuntimeDirectory(runtime, directory);
}

export function removeRuntimeDirectory(runtime: string, directory: string): void {
  rmSync(runtime, { recursive: true, force: true });
  rmSync(noteIn(directory), { force: true });
}

const noteIn = (directory: string): string => join(directory, 'nginx.runtime');

/** The pid may have been given to somebody else since. nginx writes what a process is where its arguments were. */
export const isNginx = async (role: 'master' | 'worker', pid: number): Promise<boolean> =>
  (await commandLine(pid)).startsWith(`nginx: ${role} process`);

const POLL_MS = 20;

/** Empty when there is no such process. */
async function commandLine(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH')) return '';
    throw error;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
