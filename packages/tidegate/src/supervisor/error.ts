/** An error that the user can fix. The message is complete; no stack trace is shown. */
export class SupervisorError extends Error {
  override readonly name = 'SupervisorError';
}

/** The code of a system error, for example `EADDRINUSE`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
