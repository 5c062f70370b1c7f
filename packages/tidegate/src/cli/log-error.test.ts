import pino from 'pino';
import { expect, it } from 'vitest';
import { logError } from './log-error.ts';

/** The message of the error in the line that pino writes. */
function messageOf(error: unknown): string {
  const lines: string[] = [];
  const log = pino({ serializers: { err: logError } }, { write: (line: string) => void lines.push(line) });
  log.error({ err: error }, 'failed');
  return (JSON.parse(lines[0]!) as { err: { message: string } }).err.message;
}

const refused = new Error('connect ECONNREFUSED 127.0.0.1:6443');

it('does not repeat a cause that the message contains', () => {
  const error = new Error(`GET https://127.0.0.1:6443/api: ${refused.message}`, { cause: refused });
  expect(messageOf(error)).toBe('GET https://127.0.0.1:6443/api: connect ECONNREFUSED 127.0.0.1:6443');
  const outer = new Error(`cannot list nodes: ${error.message}`, { cause: error });
  expect(messageOf(outer)).toBe(outer.message);
});

it('appends causes that the message does not contain', () => {
  const error = new Error('cannot list nodes', { cause: refused });
  expect(messageOf(error)).toBe('cannot list nodes: connect ECONNREFUSED 127.0.0.1:6443');
});

it('keeps the type and the stack', () => {
  const line = logError(new TypeError('x')) as { type: string; stack: string };
  expect(line.type).toBe('TypeError');
  expect(line.stack).toContain('log-error.test.ts');
});
