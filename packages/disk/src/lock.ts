/**
 * One process a directory. Node has no flock, so the lock is a file `lock-<n>` that names its owner.
 *
 * To take the lock is to make the file with the next number, which only one can (a hard link fails when the name is
 * taken). A lower file is removed only while a higher one exists, so the highest number never falls, and whoever finds
 * nothing above its own number is the one owner. A dead owner's file, or one emptied by its owner, counts as free.
 */
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskError, isErrno } from './errors.ts';

/** One process, and no other that gets its pid later. */
export interface ProcessIdentity {
  pid: number;
  /** Boot and start time of the process: a pid alone may have been given to another one since. */
  started: string;
}

/** Takes the lock of a directory; returns the function that gives it back. */
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
  return () => truncate(mine);
}

/** The living process that holds the lock, if any. */
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

/** Makes the lock file with its content in it, at once; false when somebody else made it. */
async function createLock(path: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.tmp`;
  await writeFile(draft, JSON.stringify(await identify(process.pid)), { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Undefined when nobody holds the lock, which is also what a file means whose content a power cut took. */
async function readOwner(path: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ProcessIdentity;
  } catch (error) {
    if (error instanceof SyntaxError || isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export async function identify(pid: number): Promise<ProcessIdentity> {
  return { pid, started: (await startOf(pid)) ?? '' };
}

export async function isAlive({ pid, started }: ProcessIdentity): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, as another user.
    if (!isErrno(error, 'EPERM')) return false;
  }
  const now = await startOf(pid);
  return now === undefined || started === '' || now === started;
}

/** When a process began, in words that no other process shares; undefined where there is no /proc. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    // The second field is the program's name in parentheses and may hold anything; the start time is the 22nd.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // It is over; only nobody has asked yet how it ended.
    if (fields[0] === 'Z') return 'never';
    return `${boot.trim()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function locked(directory: string, owner: ProcessIdentity | undefined): DiskError {
  const who = owner === undefined ? 'another process' : `process ${owner.pid}`;
  return new DiskError(
    'locked',
    `the data directory ${directory} is in use by ${who}; stop it, or use another directory`,
  );
}
