/**
 * The fields of one log line. An error goes into `err`: pino, and loggers that follow its conventions, serialize that
 * field with message, stack and cause. An Error in any other field is printed as `{}`, because its properties are not
 * enumerable. So no other field accepts an Error, or a value that may be one, such as the `unknown` of a catch clause.
 */
export type LogFields<Fields extends object> = {
  readonly [Name in keyof Fields]: Name extends 'err' ? unknown : NotAnError<Fields[Name]>;
};

type NotAnError<Value> = unknown extends Value
  ? never
  : [Extract<Value, Error>] extends [never]
    ? Value
    : never;

/** Writes one line. Generic, because an index signature cannot make an exception for `err`. */
type WriteLine = <Fields extends object>(fields: Fields & LogFields<Fields>, message: string) => void;

/** The part of a logger that this package uses. A pino logger satisfies it as it is. */
export interface Logger {
  debug: WriteLine;
  info: WriteLine;
  warn: WriteLine;
  error: WriteLine;
  /** A logger that adds these fields to every line. */
  child<Fields extends object>(fields: Fields & LogFields<Fields>): Logger;
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
