/** All errors of this package, as one class with a stable code. */

/**
 * - `locked`: another process uses the directory.
 * - `corrupt`: a file is damaged or missing, and continuing could lose acknowledged writes.
 * - `version`: a file was written by a newer program.
 * - `full`, `io`: a write failed; the stored data remains readable. `full`: no space, or the quota of the user is used
 *   up. It passes once space is freed.
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
  if (isErrno(cause, 'ENOSPC')) {
    return new DiskError(
      'full',
      `no space left on the file system of ${directory}: free some space and try again`,
      { cause },
    );
  }
  if (isErrno(cause, 'EDQUOT')) {
    return new DiskError(
      'full',
      `the disk quota of this user is used up on the file system of ${directory}: free some space and try again`,
      { cause },
    );
  }
  if (isErrno(cause, 'EROFS')) {
    return new DiskError(
      'io',
      `the file system of ${directory} is read-only: mount it writable, and check the kernel log for errors of the disk`,
      { cause },
    );
  }
  if (isErrno(cause, 'EIO')) {
    return new DiskError(
      'io',
      `the disk reports an error for ${directory}: check the kernel log, and replace the disk if it fails again`,
      { cause },
    );
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new DiskError('io', `cannot use the data directory ${directory}: ${reason}`, { cause });
}

/** The DiskError for whatever was thrown; one that is a DiskError already stays as it is. */
export const asDiskError = (directory: string, error: unknown): DiskError =>
  error instanceof DiskError ? error : diskFailure(directory, error);

const DISK_ERRNOS = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'];

/** Whether a system call failed because of the disk, and not because of its arguments or permissions. */
export const isDiskErrno = (error: unknown): boolean => DISK_ERRNOS.some((code) => isErrno(error, code));

/** Whether a system call failed with this code, for example `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
