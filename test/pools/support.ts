import { setTimeout as sleep } from 'node:timers/promises';

/** Polls `look` until it returns a value, up to the timeout of the test. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(10);
  }
}
