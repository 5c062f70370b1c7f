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

  it('does not compile with an error in another field, which pino prints as {}', () => {
    const { log, lines } = pinoLogger();
    const lost = new Error('lost');
    // @ts-expect-error The field for errors is `err`.
    log.error({ error: lost }, 'sync failed');
    expect(lines[0]?.error).toEqual({});
    // @ts-expect-error An error class does not make a difference, and neither does the level.
    log.warn({ node: 'a', cause: new TypeError('lost') }, 'sync failed');
    // @ts-expect-error A value that may be an error is not accepted either.
    log.info({ reason: lost as Error | string }, 'sync failed');
    // @ts-expect-error The same applies to the value of a catch clause.
    log.debug({ reason: lost as unknown }, 'sync failed');
    // @ts-expect-error The same applies to fields that a child logger adds to every line.
    silentLogger.child({ error: lost });
  });

  it('accepts all other values', () => {
    const { log, lines } = pinoLogger();
    const optional: { size?: number } = {};
    log.child({ component: 'hub' }).info({ names: ['a'], nested: { port: 1 }, ...optional }, 'ready');
    expect(lines).toMatchObject([{ component: 'hub', names: ['a'], nested: { port: 1 }, msg: 'ready' }]);
  });
});
