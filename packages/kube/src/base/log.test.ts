import { Writable } from 'node:stream';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from './log.ts';

/** A pino logger, as the programs create it, and the lines that it has written. */
function pinoLogger(): { log: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const output = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { log: pino(output), lines };
}

describe('Logger', () => {
  it('prints message, stack and cause of an error in the field err', () => {
    const { log, lines } = pinoLogger();
    const cause = new Error('connection refused');
    log.error({ err: new Error('cannot list nodes', { cause }), attempt: 2 }, 'sync failed');
    expect(lines).toMatchObject([
      { msg: 'sync failed', attempt: 2, err: { message: 'cannot list nodes: connection refused' } },
    ]);
    expect(lines[0]?.err).toMatchObject({ stack: expect.stringContaining('log.test.ts') });
  });

  it('does not compile with an error in the field error, which pino prints as {}', () => {
    const { log, lines } = pinoLogger();
    // @ts-expect-error The field for errors is `err`.
    log.error({ error: new Error('lost') }, 'sync failed');
    expect(lines[0]?.error).toEqual({});
    // @ts-expect-error The same holds for fields that a child logger adds to every line.
    silentLogger.child({ error: new Error('lost') });
  });
});
