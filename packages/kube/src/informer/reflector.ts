import { backoffDelay } from '../base/backoff.ts';
import { type Clock, childController, type Random } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { KubeList, KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import {
  ApiStatusError,
  ConnectionError,
  DeadlineError,
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
import { alwaysOnline, type Link, pause } from './link.ts';
import { isOlderVersion } from './resource-version.ts';
import { RolledBackError, whenSilent } from './rollback.ts';
import { endsInitialEvents, HalfOpenError, watchStream } from './watch-stream.ts';

/** Where the reflector puts what it learns, in the form in which it is kept there. */
export interface Mirror<T extends KubeObject, Kept = T> {
  /** Called for every object as soon as it is read, so that a large state is never in memory as it came. */
  keep(object: T): Kept;
  /** The complete state at one moment; whatever is not in it is gone. */
  replace(state: Kept[], resourceVersion: string, listKind: string): void;
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Kept): void;
  /** Nothing else has happened up to here. */
  bookmark?(resourceVersion: string): void;
}

/** `listing`: the state is being fetched. `watching`: the mirror is current. `waiting`: something failed, or it is over. */
export type ReflectorPhase = 'listing' | 'watching' | 'waiting';

export interface ReflectorOptions<Kept> {
  select: SelectOptions;
  clock: Clock;
  random: Random;
  log: Logger;
  /** The mirror holds the state of this version: go on from there. */
  resumeFrom?: string;
  /** A stream is cheaper for both sides; a list travels compressed, which counts more on a thin link. */
  initialState?: 'stream' | 'list';
  /** While it is away nothing is tried; when it comes back, everything at once. */
  link?: Link;
  /** Whether a state may replace what is there. If not, it is fetched again after a while. */
  confirm?(state: Kept[], signal: AbortSignal): Promise<boolean>;
  /** Failures after which there is no use in trying again. */
  isFinal?(error: unknown): boolean;
  onPhase?(phase: ReflectorPhase): void;
}

const BASE_MS = 500;
/** A server that answers with failures is left alone for longer than one that could not be reached. */
const LONGEST_MS = 30_000;
const LONGEST_UNREACHED_MS = 5_000;
/** A watch that ends sooner, and without an event, did not work. */
const SHORT_WATCH_MS = 1_000;

/**
 * Keeps a mirror equal to the server, forever: the state once, then events, resumed where they broke off. The state
 * is fetched again only when the server no longer knows the place to resume from.
 */
export class Reflector<T extends KubeObject, Kept = T> {
  readonly #client: KubeClient;
  readonly #resource: Resource<T>;
  readonly #mirror: Mirror<T, Kept>;
  readonly #options: ReflectorOptions<Kept>;
  readonly #link: Link;
  /** Undefined: the state must be fetched. */
  #resourceVersion: string | undefined;
  /** Until the server has refused it: the state arrives as a stream. */
  #watchList: boolean;
  /** In a row, without an event in between. */
  #failures = 0;
  /** One of them was that the server had forgotten our place. */
  #lostPlace = false;

  constructor(
    client: KubeClient,
    resource: Resource<T>,
    mirror: Mirror<T, Kept>,
    options: ReflectorOptions<Kept>,
  ) {
    this.#client = client;
    this.#resource = resource;
    this.#mirror = mirror;
    this.#options = options;
    this.#link = options.link ?? alwaysOnline;
    this.#resourceVersion = options.resumeFrom;
    this.#watchList = options.initialState !== 'list';
  }

  /** Returns when the signal is aborted, and only then; rejects with a failure that is final. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (!this.#link.online) await this.#awaitLink(signal);
        await this.#round(signal);
      } catch (error) {
        this.#options.onPhase?.('waiting');
        if (signal.aborted) return;
        if (this.#options.isFinal?.(error) === true) throw error;
        await this.#recover(error, signal).catch(() => {}); // Rejects only when aborted: the loop ends.
      }
    }
    this.#options.onPhase?.('waiting');
  }

  async #awaitLink(signal: AbortSignal): Promise<void> {
    this.#options.onPhase?.('waiting');
    await pause(this.#options.clock, 0, this.#link, signal);
  }

  async #round(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion === undefined) this.#options.onPhase?.('listing');
    if (this.#resourceVersion !== undefined) return this.#resume(signal);
    if (this.#watchList) return this.#stream(signal, true);
    await this.#list(signal);
    await this.#stream(signal, false);
  }

  /** Page by page at one resourceVersion. */
  async #list(signal: AbortSignal): Promise<void> {
    const options = { ...this.#options.select, signal };
    const state: Kept[] = [];
    let last: { resourceVersion: string; listKind: string } | undefined;
    const take = (page: KubeList<T>): void => {
      for (const item of page.items) state.push(this.#mirror.keep(item));
      last = { resourceVersion: page.metadata.resourceVersion ?? '', listKind: page.kind };
    };
    try {
      for await (const page of this.#client.pages(this.#resource, options)) take(page);
    } catch (error) {
      // The list was longer than the server keeps its snapshot. In one piece it can not expire.
      if (last === undefined || !isExpired(error)) throw error;
      state.length = 0;
      take(await this.#client.listPage(this.#resource, options));
    }
    await this.#replace(state, last!.resourceVersion, last!.listKind, signal);
  }

  async #resume(signal: AbortSignal): Promise<void> {
    const { controller, release } = childController(signal);
    const dispel = whenSilent(this.#options.clock, () => void this.#checkPlace(controller));
    try {
      await this.#stream(controller.signal, false, dispel);
    } finally {
      dispel();
      release();
      controller.abort();
    }
  }

  async #checkPlace(watch: AbortController): Promise<void> {
    const place = this.#resourceVersion ?? '';
    try {
      const options = { ...this.#options.select, limit: 1, signal: watch.signal };
      const { resourceVersion: latest = '' } = (await this.#client.listPage(this.#resource, options))
        .metadata;
      if (isOlderVersion(latest, place)) watch.abort(new RolledBackError(place, latest));
    } catch (error) {
      this.#options.log.debug({ err: error }, 'can not find out whether the server was restored');
    }
  }

  async #stream(signal: AbortSignal, initialEvents: boolean, onEvent?: () => void): Promise<void> {
    const { clock, random, select } = this.#options;
    const startedAt = clock.monotonic();
    let initial: Map<string, Kept> | undefined = initialEvents ? new Map() : undefined;
    let events = 0;
    const onOpen = initialEvents ? undefined : () => this.#options.onPhase?.('watching');
    const options = { select, clock, random, initialEvents, onOpen };
    const resourceVersion = this.#resourceVersion ?? '';
    const stream = watchStream(this.#client, this.#resource, { ...options, resourceVersion }, signal);
    for await (const event of stream) {
      events++;
      this.#failures = 0;
      this.#lostPlace = false;
      onEvent?.();
      if (initial === undefined) this.#apply(event);
      else if (endsInitialEvents(event)) {
        const { kind, metadata } = event.object;
        await this.#replace([...initial.values()], metadata.resourceVersion ?? '', `${kind}List`, signal);
        initial = undefined;
        this.#options.onPhase?.('watching');
      } else this.#collect(initial, event);
    }
    if (initial !== undefined) throw new Error('the watch ended before the initial state was complete');
    if (events === 0 && clock.monotonic() - startedAt < SHORT_WATCH_MS) {
      throw new Error('the watch ended at once and without an event');
    }
  }

  async #replace(state: Kept[], resourceVersion: string, listKind: string, signal: AbortSignal) {
    const believed = (await this.#options.confirm?.(state, signal)) ?? true;
    if (!believed) throw new Error('the state that the server sent is not to be believed; asking again');
    this.#mirror.replace(state, resourceVersion, listKind);
    this.#resourceVersion = resourceVersion;
  }

  #apply({ type, object }: WatchEvent<T>): void {
    const { resourceVersion } = object.metadata;
    const newer = !isOlderVersion(resourceVersion, this.#resourceVersion);
    if (type !== 'BOOKMARK') this.#mirror.apply(type, this.#mirror.keep(object));
    else if (newer && resourceVersion !== undefined) this.#mirror.bookmark?.(resourceVersion);
    if (newer) this.#resourceVersion = resourceVersion;
  }

  /** Changes may be mixed into the initial events; only the last word on each object counts. */
  #collect(initial: Map<string, Kept>, { type, object }: WatchEvent<T>): void {
    const key = keyOf(object);
    if (type === 'DELETED') initial.delete(key);
    else if (type !== 'BOOKMARK') initial.set(key, this.#mirror.keep(object));
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
    const lostPlace =
      isExpired(error) || isTooLargeResourceVersion(error) || error instanceof RolledBackError;
    if (lostPlace || !resumable) this.#resourceVersion = undefined;
    // A server that says so is there, and can tell us the state at once, however long it could not be reached before.
    const firstExpiry = lostPlace && !this.#lostPlace;
    if (firstExpiry) this.#failures = 0;
    this.#lostPlace ||= lostPlace;
    // Whoever watches the link says once that it is gone, and need not hear it of every watch that went with it.
    const isKnown = isUnreached(error) && this.#link !== alwaysOnline;
    if (!lostPlace)
      log[isKnown ? 'debug' : 'warn'](
        { err: error, failures: this.#failures + 1 },
        'list and watch failed; trying again',
      );
    const backoff = { baseMs: BASE_MS, maxMs: isUnreached(error) ? LONGEST_UNREACHED_MS : LONGEST_MS };
    const delayMs = firstExpiry ? 0 : backoffDelay(this.#failures, backoff, random);
    this.#failures++;
    if (await pause(clock, delayMs, this.#link, signal)) this.#failures = 0;
  }
}

const isUnreached = (error: unknown): boolean =>
  error instanceof ConnectionError || error instanceof DeadlineError || error instanceof HalfOpenError;
