/** Something about the cluster that its user can mend: the message is all they need to see. */
export class SupervisorError extends Error {
  override readonly name = 'SupervisorError';
}

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
