/**
 * The fields of one log line. An error goes into `err`: pino, and loggers that follow its conventions, serialize that
 * field with message, stack and cause. An Error in any other field is printed as `{}`, because its properties are not
 * enumerable, so the most likely mistake, `error`, does not compile.
 */
export interface LogFields {
  readonly err?: unknown;
  readonly error?: never;
  readonly [field: string]: unknown;
}

/** The part of a logger that this package uses. A pino logger satisfies it as it is. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger;
}

const discard = (): void => {};

/** Discards everything. The default wherever a logger is optional. */
export const silentLogger: Logger = {
  debug: discard,
  info: discard,
  warn: discard,
  error: discard,
  child: () => silentLogger,
};
