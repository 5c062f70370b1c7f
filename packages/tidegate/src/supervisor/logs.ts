import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** A run writes into new files; those of the one before stay beside them as `*.log.1`. */
export async function rotateLogs(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const files = (await readdir(directory)).filter((name) => name.endsWith('.log'));
  await Promise.all(files.map((name) => rename(join(directory, name), join(directory, `${name}.1`))));
}
