/**
 * The fields of one log line: a closed list, so that an error cannot end up in a field that pino does not serialize. The
 * logger type of `@tidegate/kube` allows any field; this package does not use it, because it depends on no other package.
 */
interface DiskLogFields {
  readonly err?: unknown;
  readonly file?: string;
  readonly bytes?: number;
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
