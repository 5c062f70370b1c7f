import { setImmediate } from 'node:timers/promises';

/** How long other work may have to wait. */
const SLICE_MS = 10;

/**
 * Runs a long computation in slices: after each of its steps, other work of the process may run if the slice is over. So an
 * application that takes long to render delays itself only. The computation ends if `pause` rejects.
 */
export async function inSlices<T>(
  steps: Generator<unknown, T, undefined>,
  pause: () => Promise<unknown> = setImmediate,
  now: () => number = () => performance.now(),
): Promise<T> {
  let started = now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (now() - started < SLICE_MS) continue;
    await pause();
    started = now();
  }
}

/** Runs a computation without a pause, where nothing else waits. */
export function atOnce<T>(steps: Generator<unknown, T, undefined>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
