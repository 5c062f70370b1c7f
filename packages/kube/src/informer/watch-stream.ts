import { type Clock, childController, type Random } from '../base/clock.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { SelectOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';
import type { WatchEvent } from '../client/watch.ts';
import { Watchdog } from './watchdog.ts';

/** The line is dead although nobody said so. */
export class HalfOpenError extends Error {
  constructor(why: string) {
    super(`the watch went silent: ${why}`);
    this.name = 'HalfOpenError';
  }
}

export interface StreamOptions {
  select: SelectOptions;
  resourceVersion: string;
  /** Begin with the present state as ADDED events, ended by a marked bookmark. */
  initialEvents: boolean;
  clock: Clock;
  random: Random;
  /** The server has accepted the watch. */
  onOpen?: () => void;
}

const SHORTEST_SECONDS = 300;

/** One watch, guarded: it ends by itself after 5 to 10 minutes, and throws if the peer is gone. */
export async function* watchStream<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  const { clock, random, initialEvents, resourceVersion, select } = options;
  // Spread, or all watches that a restarting server lost would come back to it again and again together.
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
