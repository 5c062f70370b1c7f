import { compose, type RunningHub } from './compose.ts';
import { Lifetime } from './lifetime.ts';
import type { HubOptions } from './options.ts';

export interface Hub extends RunningHub {
  /** Closes the listeners first and the state on disk last. */
  close(): Promise<void>;
}

/** Resolves when the hub listens, whether or not an API server is reachable. */
export async function startHub(options: HubOptions): Promise<Hub> {
  const lifetime = new Lifetime();
  try {
    const { ports, ready, health } = await compose(options, lifetime);
    return { ports, ready, health, close: () => lifetime.close() };
  } catch (error) {
    await lifetime.close();
    throw error;
  }
}
