import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DiskError, diskFailure, isDiskErrno, isErrno } from './errors.ts';

/** Creates the directory that the user chose with an option. */
export function makeChosenDirectory(path: string, option: string): void {
  try {
    makeDirectory(path);
  } catch (cause) {
    if (isDiskErrno(cause)) throw diskFailure(path, cause);
    const reason = (cause as Error).message;
    throw new DiskError(
      'io',
      `cannot create the directory ${path}: ${reason}; choose another with ${option}`,
      {
        cause,
      },
    );
  }
}

/**
 * Creates a directory that only the owner can enter, and its parents. The recursive mkdir of Node never returns if a
 * parent exists but does not accept children, for example /proc.
 */
export function makeDirectory(path: string): void {
  try {
    make(path);
  } catch (error) {
    const parent = dirname(path);
    if (!isErrno(error, 'ENOENT') || parent === path) throw error;
    makeDirectory(parent);
    make(path);
  }
}

function make(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST') || !statSync(path).isDirectory()) throw error;
  }
}
