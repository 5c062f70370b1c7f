import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long a test waits for one event, for example a pod that becomes ready. The limit only ends a wait that would never
 * end: it is long enough for a machine with a load of ten times its cores. It is shorter than the limit of a test
 * (vitest.limits.ts), because the error after it contains the last difference.
 */
export const PATIENCE_MS = 240_000;

/**
 * Polls until `look` returns something other than undefined and false. An error of `look` ends the wait. The pause is twice as
 * long as a look, so that waiting tests leave most of the CPU time to the programs that they wait for.
 */
export async function eventually<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const started = Date.now();
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`not within ${PATIENCE_MS} ms: ${look}`);
    await sleep(Math.max(20, 2 * (Date.now() - started)));
  }
}
