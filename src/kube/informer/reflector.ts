import { backoffDelay } from '../backoff.ts';
import type { KubeClient } from '../client/client.ts';
import {
  ApiStatusError,
  isBadRequest,
  isExpired,
  isInvalid,
  isServerUnavailable,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../client/errors.ts';
import type { SelectOptions } from '../client/options.ts';
import { keyOf, type Resource } from '../client/resource.ts';
import type { WatchEvent } from '../client/watch.ts';
import { type Clock, type Random, sleep } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { KubeObject } from '../object.ts';
import { isOlderVersion } from './resource-version.ts';
import { endsInitialEvents, HalfOpenError, watchStream } from './watch-stream.ts';

/** Where the reflector puts what it learns. */
export interface Mirror<T extends KubeObject> {
  /** The complete state at one moment; whatever is not in it is gone. */
  replace(objects: T[]): void;
  apply(event: WatchEvent<T>): void;
}

export interface ReflectorOptions {
  select: SelectOptions;
  clock: Clock;
  random: Random;
  log: Logger;
}

const BACKOFF = { baseMs: 500, maxMs: 30_000 };
/** A watch that ends sooner, and without an event, did not work. */
const SHORT_WATCH_MS = 1_000;

/**
 * Keeps a mirror equal to the server, forever: the state once, then events, resumed where they broke off. The state
 * is fetched again only when the server no longer knows the place to resume from.
 */
export class Reflector<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #resource: Resource<T>;
  readonly #mirror: Mirror<T>;
  readonly #options: ReflectorOptions;
  /** Undefined: the state must be fetched. */
  #resourceVersion: string | undefined;
  /** Until the server has refused it: the state arrives as a stream, which is cheaper for both sides. */
  #watchList = true;
  /** In a row, without an event in between. */
  #failures = 0;

  constructor(client: KubeClient, resource: Resource<T>, mirror: Mirror<T>, options: ReflectorOptions) {
    this.#client = client;
    this.#resource = resource;
    this.#mirror = mirror;
    this.#options = options;
  }

  /** Returns when the signal is aborted, and only then. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#round(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal).catch(() => {}); // Rejects only when aborted: the loop ends.
      }
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion === undefined && this.#watchList) return this.#stream(signal, true);
    if (this.#resourceVersion === undefined) await this.#list(signal);
    await this.#stream(signal, false);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const list = await this.#client.list(this.#resource, { ...this.#options.select, signal });
    this.#mirror.replace(list.items);
    this.#resourceVersion = list.metadata.resourceVersion ?? '';
  }

  async #stream(signal: AbortSignal, initialEvents: boolean): Promise<void> {
    const { clock, random, select } = this.#options;
    const startedAt = clock.monotonic();
    let initial: Map<string, T> | undefined = initialEvents ? new Map() : undefined;
    let events = 0;
    const options = { select, clock, random, initialEvents, resourceVersion: this.#resourceVersion ?? '' };
    for await (const event of watchStream(this.#client, this.#resource, options, signal)) {
      events++;
      this.#failures = 0;
      if (initial === undefined) this.#apply(event);
      else if (endsInitialEvents(event)) {
        this.#mirror.replace([...initial.values()]);
        initial = undefined;
        this.#resourceVersion = event.object.metadata.resourceVersion ?? '';
      } else collect(initial, event);
    }
    if (initial !== undefined) throw new Error('the watch ended before the initial state was complete');
    if (events === 0 && clock.monotonic() - startedAt < SHORT_WATCH_MS) {
      throw new Error('the watch ended at once and without an event');
    }
  }

  #apply(event: WatchEvent<T>): void {
    if (event.type !== 'BOOKMARK') this.#mirror.apply(event);
    const { resourceVersion } = event.object.metadata;
    if (!isOlderVersion(resourceVersion, this.#resourceVersion)) this.#resourceVersion = resourceVersion;
  }

  /** Decides where to go on, then waits so long that a broken server is not hammered. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    const streaming = this.#resourceVersion === undefined && this.#watchList;
    if (streaming && (isBadRequest(error) || isInvalid(error) || error instanceof HalfOpenError)) {
      log.debug({ err: error }, 'the server does not stream the initial state; listing instead');
      this.#watchList = false;
      return;
    }
    const resumable =
      !(error instanceof ApiStatusError) || isTooManyRequests(error) || isServerUnavailable(error);
    const lostPlace = isExpired(error) || isTooLargeResourceVersion(error);
    if (lostPlace || !resumable) this.#resourceVersion = undefined;
    const firstExpiry = lostPlace && this.#failures === 0;
    if (!lostPlace)
      log.warn({ err: error, failures: this.#failures + 1 }, 'list and watch failed; trying again');
    const delayMs = firstExpiry ? 0 : backoffDelay(this.#failures, BACKOFF, random);
    this.#failures++;
    await sleep(clock, delayMs, signal);
  }
}

/** Changes may be mixed into the initial events; only the last word on each object counts. */
function collect<T extends KubeObject>(initial: Map<string, T>, { type, object }: WatchEvent<T>): void {
  const key = keyOf(object);
  if (type === 'DELETED') initial.delete(key);
  else if (type !== 'BOOKMARK') initial.set(key, object);
}
