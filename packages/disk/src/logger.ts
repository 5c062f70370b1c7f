/** The fields of one log line. An error goes into `err`, the field that pino serializes; `error` does not compile. */
export interface DiskLogFields {
  readonly err?: unknown;
  readonly error?: never;
  readonly [field: string]: unknown;
}

/** The part of a logger that this package uses. A pino logger satisfies it as it is. */
export interface DiskLogger {
  warn(fields: DiskLogFields, message: string): void;
  error(fields: DiskLogFields, message: string): void;
}

/** The default: reports problems the way Node reports its own warnings, so that none goes unnoticed. */
export const processLogger: DiskLogger = { warn: emit, error: emit };

function emit({ err }: DiskLogFields, message: string): void {
  const detail = err instanceof Error ? (err.stack ?? err.message) : undefined;
  process.emitWarning(message, { type: 'DiskWarning', detail });
}
