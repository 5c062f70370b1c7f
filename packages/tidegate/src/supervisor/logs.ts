import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** Renames the logs of the previous run to `*.log.1`, so that every run starts with new files. */
export async function rotateLogs(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const files = (await readdir(directory)).filter((name) => name.endsWith('.log'));
  await Promise.all(files.map((name) => rename(join(directory, name), join(directory, `${name}.1`))));
}
