import { setTimeout as sleep } from 'node:timers/promises';

/** Looks again until `look` gives something, for as long as the test may take. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(10);
  }
}
