import type { Clock } from '@tidegate/kube';
import { tooLargeResourceVersion } from '@tidegate/serving';
import type { Hold } from '../projections/index.ts';

/** kube-apiserver waits as long for its watch cache (`blockTimeout`). */
const LONGEST_WAIT_MS = 3_000;

/**
 * Resolves when the projection is at least as new as `version`, which the client has seen: a client must never see an older
 * state than before (`resourceVersionMatch=NotOlderThan`). Rejects with 504 "Too large resource version" after a few
 * seconds, as an API server does.
 */
export async function untilFresh(
  hold: Hold,
  version: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const isFresh = (): boolean => hold.projection.reaches(version);
  if (isFresh()) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (then: () => void): void => {
      cancel();
      unsubscribe();
      signal.removeEventListener('abort', onAbort);
      then();
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const cancel = clock.after(LONGEST_WAIT_MS, () =>
      settle(() => reject(tooLargeResourceVersion(version, hold.projection.resourceVersion))),
    );
    const unsubscribe = hold.projection.subscribe({
      changed: () => isFresh() && settle(resolve),
      ended: () => undefined,
    });
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
