import pino, { type Logger } from 'pino';
import { LogOutput } from './log-output.ts';

/** The log of a program: JSON lines on stderr. */
export function createLog(level: string): Logger {
  return pino({ level }, new LogOutput(2));
}
