import { join } from 'node:path';

/** Ends all processes of a run and removes its files, however it ends. */
export const guard = {
  globalSetup: [join(import.meta.dirname, 'test/guard/setup.ts')],
  // The guard waits for processes that are still ending.
  teardownTimeout: 180_000,
};

/**
 * Limits only end a test that hangs. They do not measure speed, so they are long enough for a machine with a load of ten
 * times its cores. Polls end first, because their message contains the last difference.
 */
export const limits = {
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 240_000 } },
};
