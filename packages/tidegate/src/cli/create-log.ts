import pino, { type Logger } from 'pino';
import { logError } from './log-error.ts';
import { LogOutput } from './log-output.ts';
import { logText } from './log-text.ts';

/** The log of a program, on stderr: readable text on a terminal, JSON elsewhere. */
export function createLog(level: string): Logger {
  const { stderr } = process;
  const options = { level, serializers: { err: logError } };
  if (!stderr.isTTY) return pino(options, new LogOutput(2));
  const color = process.env.NO_COLOR === undefined;
  return pino(options, {
    write: (line: string) => void stderr.write(`${logText(line.trimEnd(), { color })}\n`),
  });
}
