import type { Random } from './clock.ts';

/** The delay after the first failure, and the longest delay, in milliseconds. */
export interface BackoffOptions {
  baseMs: number;
  maxMs: number;
}

/**
 * The delay in milliseconds after `failures` consecutive failures, counted from 0. It doubles with every failure, up
 * to a maximum. Half of it is random, which spreads out clients that failed at the same moment, so that they do not
 * all return at the same moment.
 *
 * @example
 * backoffDelay(3, { baseMs: 100, maxMs: 30_000 }, Math.random); // between 400 and 800
 */
export function backoffDelay(failures: number, { baseMs, maxMs }: BackoffOptions, random: Random): number {
  // 2^1024 is Infinity, which Math.min takes care of.
  const delay = Math.min(maxMs, baseMs * 2 ** failures);
  return delay / 2 + (delay / 2) * random();
}
