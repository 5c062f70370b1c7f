import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Payload } from './payload.ts';

const DATA = '..data';

/**
 * Replaces all files of a directory atomically, like the kubelet: the files are in a hidden directory, to which the
 * link `..data` points, and the visible names are links through `..data`. Renaming a new link over `..data` replaces
 * everything at once.
 */
export async function replaceContents(directory: string, payload: Payload): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const before = await readlink(join(directory, DATA)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  const fresh = `..${randomUUID()}`;
  await writeAll(join(directory, fresh), payload);
  await symlink(fresh, join(directory, `${DATA}_tmp`)).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    // Left by an agent that was killed between the two steps.
    await unlink(join(directory, `${DATA}_tmp`));
    await symlink(fresh, join(directory, `${DATA}_tmp`));
  });
  await rename(join(directory, `${DATA}_tmp`), join(directory, DATA));
  await linkVisible(directory, new Set([...payload.keys()].map((path) => path.split('/')[0]!)));
  if (before !== undefined) await rm(join(directory, before), { recursive: true, force: true });
}

async function writeAll(directory: string, payload: Payload): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  for (const [path, { data, mode }] of payload) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // All pods run as the same user of this machine. Permissions for group and others would expose the files to other
    // users.
    await writeFile(file, data, { mode: mode & 0o700 });
  }
}

/** Creates and removes the visible links. Links of files that stay are not touched, so open paths keep working. */
async function linkVisible(directory: string, wanted: ReadonlySet<string>): Promise<void> {
  const present = new Set<string>();
  for (const name of await readdir(directory)) {
    if (name.startsWith('..') || !(await isDataLink(join(directory, name)))) continue;
    if (wanted.has(name)) present.add(name);
    else await unlink(join(directory, name));
  }
  for (const name of wanted) {
    if (!present.has(name)) await symlink(join(DATA, name), join(directory, name));
  }
}

/** Mounts inside this volume are links too, but do not point through `..data`. */
async function isDataLink(path: string): Promise<boolean> {
  if (!(await lstat(path)).isSymbolicLink()) return false;
  return (await readlink(path)).startsWith(`${DATA}/`);
}
