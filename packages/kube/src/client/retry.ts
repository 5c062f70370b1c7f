import { backoffDelay } from '../base/backoff.ts';
import type { Random } from '../base/clock.ts';
import { ConnectionError } from './errors.ts';

/** A longer Retry-After is not obeyed: the caller has a deadline and can decide better. */
const LONGEST_WAIT_MS = 30_000;
const RESET_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** How long an overloaded server asks the client to wait; undefined if the answer is final. */
export function retryAfterMs(code: number, header: string | undefined, now: number): number | undefined {
  if (code !== 429 && code < 500) return undefined;
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(0, seconds * 1000), LONGEST_WAIT_MS);
}

/** A read can be retried after the connection broke. A write cannot: the server may have carried it out. */
export function resetRetryMs(
  method: string,
  error: unknown,
  attempt: number,
  random: Random,
): number | undefined {
  if (method !== 'GET' || !(error instanceof ConnectionError) || !RESET_CODES.has(error.code))
    return undefined;
  return backoffDelay(attempt, { baseMs: 100, maxMs: 5_000 }, random);
}
