import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes a directory that programs of a container may have written. They can leave directories without write
 * permission, as the module cache of Go is, whose entries not even the owner may remove.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!['EACCES', 'EPERM', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await openDirectories(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function openDirectories(path: string): Promise<void> {
  // A program that is still ending may remove its own files.
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isDirectory() !== true) return;
  await chmod(path, 0o700);
  for (const name of await readdir(path)) await openDirectories(join(path, name));
}
