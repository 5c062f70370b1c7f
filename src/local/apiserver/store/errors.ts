/** Everything that can go wrong with the data directory, as one class with a stable code. */

/**
 * - `locked`: another process uses the directory.
 * - `corrupt`: a file is damaged or missing, and reading on could lose acknowledged writes.
 * - `version`: a file was written by a newer program.
 * - `full`, `io`: the disk refused a write; what is stored stays readable.
 * - `closed`: the store was closed.
 */
export type StoreErrorCode = 'locked' | 'corrupt' | 'full' | 'io' | 'closed' | 'version';

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
  }
}

export function corruptFile(path: string, offset: number, what: string, cause?: unknown): StoreError {
  return new StoreError(
    'corrupt',
    `${path} is damaged at byte ${offset}: ${what}. Restore the data directory from a backup, or move it away to start empty.`,
    { cause },
  );
}

/** The error that a refusal of the disk is reported with. */
export function diskFailure(directory: string, cause: unknown): StoreError {
  const full = isErrno(cause, 'ENOSPC') || isErrno(cause, 'EDQUOT');
  if (full) {
    return new StoreError(
      'full',
      `no space left for the data directory ${directory}: free some and try again`,
      {
        cause,
      },
    );
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError('io', `cannot use the data directory ${directory}: ${reason}`, { cause });
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
