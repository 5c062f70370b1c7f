import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { diskFailure, isDiskErrno } from './errors.ts';
import { makeDirectory } from './make-directory.ts';

/**
 * Writes a file atomically: after a crash, or if there is no space left, it has either its old content or all of its new
 * content. The content goes to a temporary file, which is synced and then renamed; syncing the directory makes the
 * rename durable. Throws a DiskError if the disk is full or fails.
 */
export function writeFileAtomically(path: string, text: string, mode: number): void {
  const directory = dirname(path);
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    makeDirectory(directory);
    writeSynced(temporary, Buffer.from(text), mode);
    renameSync(temporary, path);
    syncDirectory(directory);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw isDiskErrno(error) ? diskFailure(directory, error) : error;
  }
}

function writeSynced(path: string, bytes: Buffer, mode: number): void {
  // A file of a run that was killed keeps its mode, and in a directory that others can write to, it may be a link. Only a
  // new file has the mode and the place that it should have.
  rmSync(path, { force: true });
  const file = openSync(path, 'wx', mode);
  try {
    // A disk with little space left writes a part, and reports the error only when the rest is written.
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
