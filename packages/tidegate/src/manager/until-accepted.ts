import { type Clock, ConnectionError, isServerUnavailable, type Logger, sleep } from '@tidegate/kube';

const RETRY_MS = 2_000;

/**
 * Runs a part of the manager, and runs it again while the API server cannot be reached or refuses its requests for a reason
 * that passes, for example because its disk is full. A manager that exited instead would be restarted into the same refusal.
 */
export async function untilAccepted<T>(
  what: string,
  task: () => Promise<T>,
  { clock, log, signal }: { clock: Clock; log: Logger; signal: AbortSignal },
): Promise<T> {
  let reported: string | undefined;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      const passes = isServerUnavailable(error) || error instanceof ConnectionError;
      if (!passes || signal.aborted) throw error;
      const { message } = error as Error;
      if (message !== reported) log.warn({ err: error }, `the API server cannot ${what} now; retrying`);
      reported = message;
    }
    await sleep(clock, RETRY_MS, signal);
  }
}
