import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../../../../../test/support/patience.ts';

/** Retries until `attempt` does not throw. After the timeout, throws the last error. */
export async function eventually<T>(attempt: () => Promise<T> | T, forMs = PATIENCE_MS): Promise<T> {
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
