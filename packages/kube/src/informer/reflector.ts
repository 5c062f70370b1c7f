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
import { alwaysOnline, type ConnectionState, pause } from './connection-state.ts';
import { isOlderVersion } from './resource-version.ts';
import { RolledBackError, whenSilent } from './rollback.ts';
import { endsInitialEvents, HalfOpenError, watchStream } from './watch-stream.ts';

/** Receives the state and the changes. `Kept` is the form in which the mirror stores an object. */
export interface Mirror<T extends KubeObject, Kept = T> {
  /**
   * Called for every object as soon as it is decoded, so that the full objects of a large list are never in memory
   * together.
   */
  keep(object: T): Kept;
  /** The complete state at one moment. Every object that is not in it no longer exists. */
  replace(state: Kept[], resourceVersion: string, listKind: string): void;
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Kept): void;
  /** Every change up to this resource version has been applied. */
  bookmark?(resourceVersion: string): void;
}

/**
 * `listing`: fetching the state. `watching`: the mirror is current. `waiting`: backing off after a failure, or
 * stopped.
 */
export type ReflectorPhase = 'listing' | 'watching' | 'waiting';

export interface ReflectorOptions<Kept> {
  select: SelectOptions;
  clock: Clock;
  random: Random;
  log: Logger;
  /** The mirror already holds the state of this version: resume from there. */
  resumeFrom?: string;
  /** A stream is cheaper for both sides; a list is compressed, which matters more on a slow link. */
  initialState?: 'stream' | 'list';
  /** While the connection is offline, nothing is tried; when it is restored, everything is tried at once. */
  connection?: ConnectionState;
  /** Decides whether a fetched state may replace the current one. If not, it is fetched again after a delay. */
  confirm?(state: Kept[], signal: AbortSignal): Promise<boolean>;
  /** Errors after which retrying is pointless. */
  isFinal?(error: unknown): boolean;
  onPhase?(phase: ReflectorPhase): void;
  /** Called with each error before the next attempt. */
  onFailure?(error: unknown): void;
}

const BASE_MS = 500;
/** A server that answers with errors is left alone for longer than one that could not be reached. */
const LONGEST_MS = 30_000;
const LONGEST_UNREACHED_MS = 5_000;
/** A watch that ends sooner than this, without an event, counts as a failure. */
const SHORT_WATCH_MS = 1_000;

/**
 * Keeps a mirror equal to the server: fetches the state once, then follows a watch, and resumes where it broke off.
 * It corresponds to the Reflector of client-go.
 *
 *   no resource version -> watch-list, or a paged list where the server has no watch-list -> `mirror.replace`
 *   -> watch from that version -> `mirror.apply` for every event; bookmarks advance the version without an event
 *   -> the watch ends, normally every 5 to 10 minutes -> watch again from the last version seen
 *   -> a failure -> back off, then resume; or forget the version, and start again with the state
 *
 * Resuming is what keeps a disconnect cheap: nothing is fetched again. It is impossible in three cases, which all
 * lead back to the state: the version is too old (410 Expired: the server has compacted its history), the version is
 * too large (the server was restored from an older backup), or the server was restored and sends no error (see
 * rollback.ts).
 */
export class Reflector<T extends KubeObject, Kept = T> {
  readonly #client: KubeClient;
  readonly #resource: Resource<T>;
  readonly #mirror: Mirror<T, Kept>;
  readonly #options: ReflectorOptions<Kept>;
  readonly #connection: ConnectionState;
  /** The version to resume from. Undefined: the state must be fetched. */
  #resourceVersion: string | undefined;
  /** Whether to fetch the state as a stream (watch-list). False after the server has rejected it once. */
  #watchList: boolean;
  /** Consecutive failures, without an event in between. */
  #failures = 0;
  /** Whether one of these failures was that the server no longer knew our version. */
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
    this.#connection = options.connection ?? alwaysOnline;
    this.#resourceVersion = options.resumeFrom;
    this.#watchList = options.initialState !== 'list';
  }

  /** Returns only when the signal is aborted. Rejects with an error that `isFinal` accepts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (!this.#connection.online) await this.#awaitConnection(signal);
        await this.#round(signal);
      } catch (error) {
        this.#options.onPhase?.('waiting');
        if (signal.aborted) return;
        if (this.#options.isFinal?.(error) === true) throw error;
        await this.#recover(error, signal).catch(() => {}); // Rejects only when aborted; then the loop ends.
      }
    }
    this.#options.onPhase?.('waiting');
  }

  async #awaitConnection(signal: AbortSignal): Promise<void> {
    this.#options.onPhase?.('waiting');
    await pause(this.#options.clock, 0, this.#connection, signal);
  }

  /** One pass: fetch the state if it is unknown, then watch until the watch ends. Throws on any failure. */
  async #round(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion === undefined) this.#options.onPhase?.('listing');
    if (this.#resourceVersion !== undefined) return this.#resume(signal);
    if (this.#watchList) return this.#stream(signal, true);
    await this.#list(signal);
    await this.#stream(signal, false);
  }

  /** Fetches the state page by page; all pages show the same resource version. */
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
      // The server compacted its history before the last page was read. A list in one piece cannot expire.
      if (last === undefined || !isExpired(error)) throw error;
      state.length = 0;
      take(await this.#client.listPage(this.#resource, options));
    }
    await this.#replace(state, last!.resourceVersion, last!.listKind, signal);
  }

  /** Continues from the last version. A resumed watch that stays silent is checked, see rollback.ts. */
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

  /**
   * Aborts the watch if the server is at an older version than the mirror. Lists one object, because every list
   * carries the current version of the server.
   */
  async #checkPlace(watch: AbortController): Promise<void> {
    const place = this.#resourceVersion ?? '';
    try {
      const options = { ...this.#options.select, limit: 1, signal: watch.signal };
      const { resourceVersion: latest = '' } = (await this.#client.listPage(this.#resource, options))
        .metadata;
      if (isOlderVersion(latest, place)) watch.abort(new RolledBackError(place, latest));
    } catch (error) {
      this.#options.log.debug(
        { err: error },
        'cannot determine whether the server was restored from a backup',
      );
    }
  }

  /**
   * Follows one watch. With `initialEvents`, collects the events up to the marking bookmark and replaces the mirror
   * with them: until then, the old state stays visible to readers.
   */
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
    // A server that closes every watch at once would otherwise be asked again in a tight loop.
    if (events === 0 && clock.monotonic() - startedAt < SHORT_WATCH_MS) {
      throw new Error('the watch ended immediately, without an event');
    }
  }

  async #replace(state: Kept[], resourceVersion: string, listKind: string, signal: AbortSignal) {
    const believed = (await this.#options.confirm?.(state, signal)) ?? true;
    if (!believed)
      throw new Error('the state from the server looks wrong and was not confirmed; fetching it again');
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

  /** Changes may be mixed into the initial events. Only the last state of each object counts. */
  #collect(initial: Map<string, Kept>, { type, object }: WatchEvent<T>): void {
    const key = keyOf(object);
    if (type === 'DELETED') initial.delete(key);
    else if (type !== 'BOOKMARK') initial.set(key, this.#mirror.keep(object));
  }

  /** Decides whether to resume or to fetch the state, then backs off. */
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
    // The server answered, so it is reachable and can send the state at once, however long it was unreachable before.
    const firstExpiry = lostPlace && !this.#lostPlace;
    if (firstExpiry) this.#failures = 0;
    this.#lostPlace ||= lostPlace;
    // The monitor of the connection has already logged that the server is unreachable; not every watch needs to repeat it.
    const isKnown = isUnreached(error) && this.#connection !== alwaysOnline;
    if (!lostPlace) this.#options.onFailure?.(error);
    if (!lostPlace)
      log[isKnown ? 'debug' : 'warn'](
        { err: error, failures: this.#failures + 1 },
        'list and watch failed; retrying',
      );
    const backoff = { baseMs: BASE_MS, maxMs: isUnreached(error) ? LONGEST_UNREACHED_MS : LONGEST_MS };
    const delayMs = firstExpiry ? 0 : backoffDelay(this.#failures, backoff, random);
    this.#failures++;
    if (await pause(clock, delayMs, this.#connection, signal)) this.#failures = 0;
  }
}

const isUnreached = (error: unknown): boolean =>
  error instanceof ConnectionError || error instanceof DeadlineError || error instanceof HalfOpenError;
