import pino from 'pino';

type Serialized = ReturnType<typeof pino.stdSerializers.err>;

/**
 * An error as it appears in the log. pino appends the messages of all causes to the message. Most errors here contain the
 * message of their cause already, in the words that explain it, so it would appear twice.
 */
export function logError(error: unknown): Serialized | unknown {
  if (!(error instanceof Error)) return error;
  const serialized = pino.stdSerializers.err(error);
  return { ...serialized, message: messageOf(error) };
}

function messageOf(error: Error): string {
  if (!(error.cause instanceof Error)) return error.message;
  const cause = messageOf(error.cause);
  return error.message.includes(cause) ? error.message : `${error.message}: ${cause}`;
}
