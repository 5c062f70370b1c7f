/** Time and randomness are parameters, so that everything built on them can be tested in virtual time. */
export interface Clock {
  /** Milliseconds since the epoch, for timestamps that other programs read. */
  now(): number;
  /** Milliseconds that never jump, for durations and deadlines. */
  monotonic(): number;
  /** Runs `fire` once after `ms`; the returned function cancels it. */
  after(ms: number, fire: () => void): () => void;
}

/** A number in [0, 1), like Math.random. */
export type Random = () => number;

/** Node fires timers with a longer delay immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. The default wherever a clock is optional. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A controller that follows `parent`. Call `release` when done, or the parent keeps it alive. */
export function childController(parent?: AbortSignal): { controller: AbortController; release: () => void } {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent?.reason);
  if (parent?.aborted === true) onAbort();
  else parent?.addEventListener('abort', onAbort, { once: true });
  return { controller, release: () => parent?.removeEventListener('abort', onAbort) };
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Settles like `promise`, or rejects with the signal's reason if that comes first. The work behind the promise
 * continues.
 */
export function orAborted<V>(promise: Promise<V>, signal?: AbortSignal): Promise<V> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
