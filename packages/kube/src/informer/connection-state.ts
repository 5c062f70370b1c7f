import type { Clock } from '../base/clock.ts';

/** The state of the connection to the server, for programs that monitor it anyway, for example with health probes. */
export interface ConnectionState {
  readonly online: boolean;
  /** Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** The default: nothing monitors the connection, so every attempt is worth trying. */
export const alwaysOnline: ConnectionState = { online: true, onChange: () => () => {} };

/**
 * Waits until `ms` have passed or the connection has come back online, whichever is first. While the connection is offline, only
 * its return counts. Resolves with true if the connection came back; rejects when aborted.
 */
export function pause(
  clock: Clock,
  ms: number,
  connection: ConnectionState,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let cancelTimer = (): void => {};
    const settle = (finish: () => void): void => {
      cancelTimer();
      unsubscribe();
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const unsubscribe = connection.onChange(() => {
      if (connection.online) settle(() => resolve(true));
      else cancelTimer();
    });
    signal.addEventListener('abort', onAbort, { once: true });
    if (connection.online) cancelTimer = clock.after(ms, () => settle(() => resolve(false)));
  });
}
