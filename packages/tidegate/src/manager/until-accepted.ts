import {
  type Clock,
  ConnectionError,
  DeadlineError,
  isForbidden,
  isServerUnavailable,
  isUnauthorized,
  type Logger,
  sleep,
} from '@tidegate/kube';

const RETRY_MS = 2_000;

/**
 * Runs a part of the manager, and runs it again while the API server cannot be reached or refuses its requests for a reason
 * that passes, for example because its disk is full. A manager that exited instead would be restarted into the same refusal.
 */
export async function untilAccepted<T>(
  what: string,
  task: () => Promise<T>,
  {
    clock,
    log,
    signal,
    onFailure,
    waitsForPermission = false,
  }: {
    clock: Clock;
    log: Logger;
    signal: AbortSignal;
    onFailure?: (error: unknown) => void;
    /** Whether to go on when the API server refuses permission, until an administrator grants it. */
    waitsForPermission?: boolean;
  },
): Promise<T> {
  let reported: string | undefined;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      const isWaited = passes(error) || (waitsForPermission && isForbidden(error));
      if (!isWaited || signal.aborted) throw error;
      onFailure?.(error);
      const { message } = error as Error;
      if (message !== reported) log.warn({ err: error }, `the API server cannot ${what} now; retrying`);
      reported = message;
    }
    await sleep(clock, RETRY_MS, signal);
  }
}

/**
 * A disconnected hub answers 503, or 401 for a token that it cannot verify now. Without a hub, packets to the API server are lost,
 * and the request ends with its deadline.
 */
const passes = (error: unknown): boolean =>
  isServerUnavailable(error) ||
  isUnauthorized(error) ||
  error instanceof ConnectionError ||
  error instanceof DeadlineError;
