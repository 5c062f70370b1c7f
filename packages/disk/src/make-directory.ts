import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DiskError, isErrno } from './errors.ts';

/** Makes the directory that the user chose with an option. */
export function makeChosenDirectory(path: string, option: string): void {
  try {
    makeDirectory(path);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new DiskError(
      'io',
      `can not make the directory ${path}: ${reason}; choose another with ${option}`,
      {
        cause,
      },
    );
  }
}

/**
 * Makes a directory that only we may enter, and those above it. Node's own way of doing so never ends where a parent is
 * there but takes no children, as /proc.
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
