import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from './make-directory.ts';

/**
 * Writes a file atomically: after a crash, it has either its old content or all of its new content. The content goes
 * to a temporary file, which is synced and then renamed; syncing the directory makes the rename durable.
 */
export function writeFileAtomically(path: string, text: string, mode: number): void {
  makeDirectory(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, 'w', mode);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}
