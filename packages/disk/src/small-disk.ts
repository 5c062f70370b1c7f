/**
 * A real file system of a few megabytes, for tests with a full disk.
 *
 * It is a tmpfs in a mount namespace of its own, so it needs no privileges and is not visible to other processes. A
 * process keeps the namespace alive; its view of the file system is reachable below /proc for this user. So any program
 * can use the directory by its path, and nothing is left behind when that process ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isErrno } from './errors.ts';

/** A small file system. */
export interface SmallDisk {
  /** Its root. */
  readonly directory: string;
  /** Fills it with a file, and leaves this many bytes. */
  fill(leaveBytes?: number): void;
  /** Removes what `fill` wrote. */
  free(): void;
  close(): Promise<void>;
}

/** A mount point that exists on every Linux. The mount hides it in the new namespace only. */
const MOUNT_POINT = '/mnt';
/** The shell waits for the end of its input, which is also the end of this process. */
const HOLD = `mount -t tmpfs -o size="$1",mode=0700 tidegate ${MOUNT_POINT} && echo mounted && read -r _`;

/** Mounts a file system of this size. */
export async function mountSmallDisk(bytes: number): Promise<SmallDisk> {
  const holder = await hold(bytes);
  const directory = `/proc/${holder.pid}/root${MOUNT_POINT}`;
  const filler = join(directory, 'filler');
  return {
    directory,
    fill: (leaveBytes = 0) => fill(filler, leaveBytes),
    free: () => rmSync(filler, { force: true }),
    close: async () => {
      if (holder.exitCode !== null || holder.signalCode !== null) return;
      const ended = once(holder, 'exit');
      holder.stdin?.end();
      await ended;
    },
  };
}

/** Root may lack the permission for a user namespace, and others need one to be allowed to mount. */
async function hold(bytes: number): Promise<ChildProcess> {
  const ways = process.getuid?.() === 0 ? [['-m'], ['-rm']] : [['-rm']];
  const reasons: string[] = [];
  for (const way of ways) {
    const outcome = await tryToHold(way, bytes);
    if (typeof outcome !== 'string') return outcome;
    reasons.push(outcome);
  }
  throw new Error(
    `this test needs a small file system, and mounting one failed (${reasons.join('; ')}): run it as root, or allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)`,
  );
}

async function tryToHold(way: readonly string[], bytes: number): Promise<ChildProcess | string> {
  const child = spawn('unshare', [...way, '--', 'sh', '-c', HOLD, 'sh', String(bytes)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += chunk;
  });
  const failed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code) => resolve(complaint.trim() || `unshare exited with code ${code}`));
  });
  const mounted = once(createInterface({ input: child.stdout }), 'line').then(() => child);
  return Promise.race([mounted, failed]);
}

/** Writes until there is no space, because the kernel reports the free space only approximately, and takes a part back. */
function fill(path: string, leaveBytes: number): void {
  const file = openSync(path, 'a');
  try {
    for (let size = 1 << 20; size > 0; size >>= 1) while (wrote(file, size));
    ftruncateSync(file, fstatSync(file).size - leaveBytes);
  } finally {
    closeSync(file);
  }
}

function wrote(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if (isErrno(error, 'ENOSPC')) return false;
    throw error;
  }
}
