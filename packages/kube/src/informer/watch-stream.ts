import { type Clock, childController, type Random } from '../base/clock.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { SelectOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';
import type { WatchEvent } from '../client/watch.ts';
import { Watchdog } from './watchdog.ts';

/** The connection is half-open: the peer is gone, and TCP has not noticed. */
export class HalfOpenError extends Error {
  constructor(why: string) {
    super(`the watch went silent: ${why}`);
    this.name = 'HalfOpenError';
  }
}

export interface StreamOptions {
  select: SelectOptions;
  resourceVersion: string;
  /** Start with the current state as ADDED events, terminated by an annotated bookmark (the watch-list of KEP-3157). */
  initialEvents: boolean;
  clock: Clock;
  random: Random;
  /** Called when the server has accepted the watch. */
  onOpen?: () => void;
}

const SHORTEST_SECONDS = 300;

/**
 * One watch with a watchdog. It ends normally after 5 to 10 minutes, and throws a HalfOpenError if the peer is gone.
 */
export async function* watchStream<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  const { clock, random, initialEvents, resourceVersion, select } = options;
  // A random timeout spreads the reconnects. Otherwise all watches that a restarting server lost would return
  // together, again and again.
  const timeoutSeconds = Math.floor(SHORTEST_SECONDS * (1 + random()));
  const { controller, release } = childController(signal);
  const watchdog = new Watchdog(clock, { timeoutSeconds, initialEvents }, (why) =>
    controller.abort(new HalfOpenError(why)),
  );
  try {
    const events = await client.watch(resource, {
      ...select,
      resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds,
      ...(initialEvents ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
      signal: controller.signal,
    });
    options.onOpen?.();
    for await (const event of events) {
      if (event.type === 'BOOKMARK') watchdog.sawBookmark();
      else watchdog.sawEvent();
      yield event;
    }
  } finally {
    watchdog.stop();
    release();
    controller.abort();
  }
}

export const endsInitialEvents = ({ type, object }: WatchEvent): boolean =>
  type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
