import {
  ApiStatusError,
  backoffDelay,
  type Clock,
  ConnectionError,
  DeadlineError,
  isTooManyRequests,
  sleep,
  systemClock,
} from '@tidegate/kube';

export interface RetryOptions {
  /** What the work does, for messages: `create YurtIngress front-doors`. */
  what: string;
  report(line: string): void;
  signal: AbortSignal;
  clock?: Clock;
}

const BACKOFF = { baseMs: 200, maxMs: 5_000 };
/** How long the same work may fail. A failure that lasts longer is reported as the reason why the cluster did not start. */
const PATIENCE_MS = 120_000;

/**
 * Repeats a write of the start-up while the API server, or a webhook that it calls, has no time for it. On a busy machine,
 * the manager may need longer for a review than the API server waits, and one such moment must not end the whole start.
 * The work must be safe to repeat: after a broken connection, the first attempt may have succeeded.
 */
export async function untilAccepted<T>(
  work: () => Promise<T>,
  { what, report, signal, clock = systemClock }: RetryOptions,
): Promise<T> {
  const end = clock.monotonic() + PATIENCE_MS;
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || clock.monotonic() > end) throw error;
      if (failures === 0) report(`cannot ${what} yet: ${error.message}; trying again`);
      await sleep(clock, backoffDelay(failures, BACKOFF, Math.random), signal);
    }
  }
}

/** A full disk (507) is not among them: only a user can change that, so it is reported immediately. */
const mayPass = (error: unknown): error is Error =>
  error instanceof ConnectionError ||
  error instanceof DeadlineError ||
  isTooManyRequests(error) ||
  (error instanceof ApiStatusError && error.code >= 500 && error.code !== 507);
