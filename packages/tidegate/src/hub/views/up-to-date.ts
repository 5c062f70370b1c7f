import type { ConnectionState } from '@tidegate/kube';
import type { View } from './view.ts';

/**
 * Resolves when a watch keeps the view current or, while no API server is reachable, when the view has its stored state.
 * A client that asks for the newest state must not get the state from before an outage while the view catches up.
 * Rejects when the API server refuses the view, and when the signal is aborted.
 */
export async function untilUpToDate(
  view: View,
  upstream: ConnectionState,
  signal: AbortSignal,
): Promise<void> {
  await view.ready(signal);
  const isUpToDate = (): boolean => !upstream.online || view.state === 'following';
  if (isUpToDate()) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (finish: () => void): void => {
      for (const stop of stops) stop();
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const look = (): void => {
      if (isUpToDate()) settle(resolve);
    };
    const stops = [
      view.onFollowing(look),
      upstream.onChange(look),
      view.onRefused((why) => settle(() => reject(why))),
    ];
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
