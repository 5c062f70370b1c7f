/** All errors of this package, as one class with a stable code. */

/**
 * - `locked`: another process uses the directory.
 * - `corrupt`: a file is damaged or missing, and continuing could lose acknowledged writes.
 * - `version`: a file was written by a newer program.
 * - `full`, `io`: a write failed; the stored data remains readable.
 * - `closed`: the store was closed.
 */
export type DiskErrorCode = 'locked' | 'corrupt' | 'full' | 'io' | 'closed' | 'version';

/** An error of the disk or of a file. `code` is for programs; the message says what to do. */
export class DiskError extends Error {
  readonly code: DiskErrorCode;

  constructor(code: DiskErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DiskError';
    this.code = code;
  }
}

/** The error for a file whose content is damaged. It must not be repaired silently, because data would be lost. */
export function corruptFile(path: string, offset: number, what: string, cause?: unknown): DiskError {
  return new DiskError(
    'corrupt',
    `${path} is damaged at byte ${offset}: ${what}. Restore the data directory from a backup, or move it away to start empty.`,
    { cause },
  );
}

/** The error for a failed file operation. */
export function diskFailure(directory: string, cause: unknown): DiskError {
  const full = isErrno(cause, 'ENOSPC') || isErrno(cause, 'EDQUOT');
  if (full) {
    return new DiskError(
      'full',
      `no space left for the data directory ${directory}: free some space and try again`,
      {
        cause,
      },
    );
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new DiskError('io', `cannot use the data directory ${directory}: ${reason}`, { cause });
}

/** Whether a system call failed with this code, for example `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
