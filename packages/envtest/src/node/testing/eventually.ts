import { setTimeout as sleep } from 'node:timers/promises';

/** Tries until it does not throw. Gives up, with the last error, only when something must be broken. */
export async function eventually<T>(attempt: () => Promise<T> | T, forMs = 20_000): Promise<T> {
  const end = performance.now() + forMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(20);
    }
  }
}
