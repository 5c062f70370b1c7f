import type { Link } from '@tidegate/kube';
import type { View } from '../views/view.ts';

/**
 * Resolves once the view is what the API server has now, or what it had when it was last heard while it is away. Who
 * asks for the newest state must not be served that of before a cut while the view still catches up.
 */
export async function newest(view: View, link: Link, signal: AbortSignal): Promise<void> {
  await view.ready(signal);
  const isNewest = (): boolean => !link.online || view.state === 'following';
  if (isNewest()) return;
  await new Promise<void>((resolve, reject) => {
    const settle = (finish: () => void): void => {
      for (const stop of stops) stop();
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const look = (): void => {
      if (isNewest()) settle(resolve);
    };
    const stops = [
      view.onFollowing(look),
      link.onChange(look),
      view.onRefused((why) => settle(() => reject(why))),
    ];
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
