import type { Clock } from '../base/clock.ts';

/** Whether the server can be reached at all, for whoever has somebody who knows. */
export interface Link {
  readonly online: boolean;
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
}

/** For those who find out by trying. */
export const alwaysOnline: Link = { online: true, onChange: () => () => {} };

/**
 * Waits until `ms` have passed or the link has come back, whichever is first; while the link is away only its return
 * counts. Resolves with whether it was that; rejects when aborted.
 */
export function pause(clock: Clock, ms: number, link: Link, signal: AbortSignal): Promise<boolean> {
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
    const unsubscribe = link.onChange(() => {
      if (link.online) settle(() => resolve(true));
      else cancelTimer();
    });
    signal.addEventListener('abort', onAbort, { once: true });
    if (link.online) cancelTimer = clock.after(ms, () => settle(() => resolve(false)));
  });
}
