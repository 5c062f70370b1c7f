import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isErrno } from '@tidegate/disk';
import { CONTROL_SOCKET, PID_FILE } from './config.ts';

/**
 * Creates the directory for nginx's socket and temporary files. It is not inside the driver's directory, because the path
 * of a unix socket is limited to about a hundred bytes, and because workers may run as another user.
 */
export function makeRuntimeDirectory(directory: string): string {
  const runtime = mkdtempSync(join(tmpdir(), 'tidegate-nginx-'));
  // nginx makes its sockets accessible to all users, so the folder must not be.
  mkdirSync(join(runtime, CONTROL_SOCKET, '..'), { mode: 0o700 });
  mkdirSync(join(runtime, 'temporary'), { mode: 0o711 });
  chmodSync(runtime, 0o711);
  note(runtime, directory);
  return runtime;
}

/**
 * Creates the directory for the sockets of `relays.ts`. Workers of another user can open a socket whose path they know. Other programs
 * do not know the name of the directory.
 */
export function makeRelayDirectory(runtime: string): string {
  const directory = join(runtime, `relays-${randomBytes(8).toString('hex')}`);
  mkdirSync(directory, { mode: 0o711 });
  chmodSync(directory, 0o711);
  return directory;
}

/** Stops an nginx whose agent was killed, and removes its files. Otherwise it would still hold the ports. */
export async function endFormer(directory: string): Promise<void> {
  const runtime = noted(directory);
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
  rmSync(noteFile(directory), { force: true });
}

const noteFile = (directory: string): string => join(directory, 'nginx.runtime');

/** A symbolic link, because it needs no space: a router must be able to restart on a full disk. */
function note(runtime: string, directory: string): void {
  rmSync(noteFile(directory), { force: true });
  symlinkSync(runtime, noteFile(directory));
}

function noted(directory: string): string | undefined {
  try {
    return readlinkSync(noteFile(directory));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    // Version 0.1 wrote a file.
    if (isErrno(error, 'EINVAL')) return read(noteFile(directory));
    throw error;
  }
}

/** Another process may have the pid by now. nginx overwrites its command line with its role, which identifies it. */
export const isNginx = async (role: 'master' | 'worker', pid: number): Promise<boolean> =>
  (await commandLine(pid)).startsWith(`nginx: ${role} process`);

const POLL_MS = 20;

/** Empty if there is no such process. */
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
