/**
 * Limits a directory to one process. Node has no flock, so the lock is a symbolic link `lock-<n>` whose target is not a
 * path, but names its owner. Symbolic links of less than 60 bytes need no block of the disk, so that a program can restart
 * on a full disk, and its directory can be deleted.
 *
 * Acquiring the lock means creating the link with the next number, which only one process can do: that fails if the name
 * exists. A lower link is removed only while a higher one exists, so the highest number never decreases, and a process
 * that finds no number above its own is the only owner. A link of a dead process, or one that its owner replaced, counts
 * as free.
 */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DiskError, diskFailure, isDiskErrno, isErrno } from './errors.ts';
import { quotePath } from './quote-path.ts';

/** Identifies one process, even if its pid is reused later. */
export interface ProcessIdentity {
  pid: number;
  /** Boot ID and start time of the process: the pid alone may have been reused. */
  started: string;
}

/**
 * Acquires the lock of a directory, and returns a function that releases it. Rejects with a DiskError if another process
 * has the lock, or if there is no space for the lock file.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const highest = (await lockNumbers(directory)).at(-1) ?? 0;
  const owner = await readOwner(lockPath(directory, highest));
  if (owner !== undefined && (await isAlive(owner))) throw locked(directory, owner);

  const mine = lockPath(directory, highest + 1);
  if (!(await createLock(mine))) throw locked(directory, await readOwner(mine));
  const numbers = await lockNumbers(directory);
  const winner = numbers.at(-1) ?? 0;
  if (winner > highest + 1) {
    await rm(mine, { force: true });
    throw locked(directory, await readOwner(lockPath(directory, winner)));
  }
  for (const old of numbers.slice(0, -1)) await rm(lockPath(directory, old), { force: true });
  return () => release(mine);
}

const FREE = 'free';

/** A link cannot be changed, but replaced. */
async function release(path: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  await symlink(FREE, draft);
  await rename(draft, path);
}

/** The running process that holds the lock, if any. */
export async function lockOwner(directory: string): Promise<ProcessIdentity | undefined> {
  const owner = await readOwner(lockPath(directory, (await lockNumbers(directory)).at(-1) ?? 0));
  return owner !== undefined && (await isAlive(owner)) ? owner : undefined;
}

function lockPath(directory: string, number: number): string {
  return join(directory, `lock-${number}`);
}

async function lockNumbers(directory: string): Promise<number[]> {
  const names = await readdir(directory);
  const numbers = names.flatMap((name) => /^lock-(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => a - b);
}

/** Creates the lock; false if another process created it first. */
async function createLock(path: string): Promise<boolean> {
  try {
    await symlink(ownerText(await identify(process.pid)), path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw isDiskErrno(error) ? diskFailure(dirname(path), error) : error;
  }
}

/** At most 55 bytes: pids have up to 7 digits, the boot ID has 36 characters, and the start time has 10 after three years. */
const ownerText = ({ pid, started }: ProcessIdentity): string => `${pid}:${started}`;

/** Undefined if the lock is free. */
async function readOwner(path: string): Promise<ProcessIdentity | undefined> {
  try {
    const [, pid, started = ''] = /^(\d+):(.*)$/.exec(await readlink(path)) ?? [];
    return pid === undefined ? undefined : { pid: Number(pid), started };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    // Version 0.1 wrote a file.
    if (isErrno(error, 'EINVAL')) return readOwnerFile(path);
    throw error;
  }
}

/** An empty file counts as free: its owner emptied it, or a power failure destroyed its content. */
async function readOwnerFile(path: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ProcessIdentity;
  } catch (error) {
    if (error instanceof SyntaxError || isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The identity of a running process: its pid and when it started, because pids are reused. */
export async function identify(pid: number): Promise<ProcessIdentity> {
  return { pid, started: (await startOf(pid)) ?? '' };
}

/** Whether exactly this process runs, and not another one that got its pid. */
export async function isAlive({ pid, started }: ProcessIdentity): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    if (!isErrno(error, 'EPERM')) return false;
  }
  const now = await startOf(pid);
  return now === undefined || started === '' || now === started;
}

/** A value that is unique to this start of the process; undefined on systems without /proc. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    // The second field is the name of the program in parentheses, which may contain anything; the start time is the
    // 22nd.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie: the process has ended, and its parent has not collected the exit status yet.
    if (fields[0] === 'Z') return 'never';
    return `${boot.trim()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function locked(directory: string, owner: ProcessIdentity | undefined): DiskError {
  const holder = owner === undefined ? 'another process' : `process ${owner.pid}`;
  return new DiskError(
    'locked',
    `the data directory ${quotePath(directory)} is in use by ${holder}; stop it, or use another directory`,
  );
}
