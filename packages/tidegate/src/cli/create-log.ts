import pino, { type Logger } from 'pino';
import { LogOutput } from './log-output.ts';
import { logText } from './log-text.ts';

/** The log of a program, on stderr: readable text on a terminal, JSON elsewhere. */
export function createLog(level: string): Logger {
  const { stderr } = process;
  if (!stderr.isTTY) return pino({ level }, new LogOutput(2));
  const color = process.env.NO_COLOR === undefined;
  return pino(
    { level },
    { write: (line: string) => void stderr.write(`${logText(line.trimEnd(), { color })}\n`) },
  );
}
