/**
 * How long a test waits for one event, for example a pod that becomes ready. The limit only ends a wait that would never
 * end: it is long enough for a machine with a load of ten times its cores. It is shorter than the limit of a test
 * (vitest.limits.ts), because the error after it contains the last difference.
 */
export const PATIENCE_MS = 240_000;
