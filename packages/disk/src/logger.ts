/** The part of a pino logger that this folder uses. */
export interface DiskLogger {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Without a logger nothing is lost: it goes where Node reports its own warnings. */
export const processLogger: DiskLogger = {
  warn: (details, message) => emit(details, message),
  error: (details, message) => emit(details, message),
};

function emit(details: object, message: string): void {
  const error = 'err' in details ? details.err : undefined;
  const reason = error instanceof Error ? (error.stack ?? error.message) : undefined;
  process.emitWarning(message, { type: 'DiskWarning', detail: reason });
}
