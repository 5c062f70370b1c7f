import { statfs } from 'node:fs/promises';

/** With less than this, programs begin to fail to write, each with its own error. */
export const LOW_BYTES = 1 << 20;

/** How many bytes the user of this process can still write in a directory. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
