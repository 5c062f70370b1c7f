import type { Random } from './clock.ts';

export interface BackoffOptions {
  baseMs: number;
  maxMs: number;
}

/**
 * Doubles with every failure, up to a maximum. The random half spreads out clients that failed at the same moment, so
 * that they do not all return at the same moment.
 */
export function backoffDelay(failures: number, { baseMs, maxMs }: BackoffOptions, random: Random): number {
  // 2^1024 is Infinity, which Math.min takes care of.
  const delay = Math.min(maxMs, baseMs * 2 ** failures);
  return delay / 2 + (delay / 2) * random();
}
