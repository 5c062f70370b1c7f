import { setTimeout as sleep } from 'node:timers/promises';

/** Retries until `attempt` does not throw. After the timeout, throws the last error. */
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
