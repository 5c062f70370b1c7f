import type { Clock, ConnectionState, Logger } from '@tidegate/kube';
import { NothingStoredError, ViewTooLargeError } from './errors.ts';
import { type FollowOptions, follow } from './follow.ts';
import type { Place } from './followed-shares.ts';
import type { AcquiredClient } from './identity-clients.ts';
import { MemoryView } from './memory-view.ts';
import type { CompleteList } from './pages.ts';
import { discardsCopy } from './refusal.ts';
import type { StoredItem, ViewProgress, ViewRecord, ViewStorage } from './storage.ts';
import type { ViewItem, ViewKey } from './view.ts';
import { idOf, SHARED } from './view-key.ts';

/** Gets the client that a view is followed with. The view releases it when it is no longer followed. */
export type AcquireClient = () => AcquiredClient;

export interface ManagedViewOptions extends Omit<FollowOptions, 'onFollowing' | 'resize'> {
  clock: Clock;
  /** Decides whether waiting for the first state makes sense. */
  upstream: ConnectionState;
  /** The upstream that the view is followed through. For views of endpoints, see SettledUpstream. */
  settledUpstream: ConnectionState;
  log: Logger;
  storage: ViewStorage;
  /** Called when a followed view sees that an object was deleted. */
  onGone(objectKey: string): void;
  onTooLarge(): void;
  /** Returns the place of the view among the followed views of its client, or undefined if there is none. */
  enter(): Place | undefined;
  /** Called when the view has become idle, so that it may be evicted. */
  onIdle(): void;
  /** Called when the view is not in use and nothing of it is stored, so that it can be removed. */
  onForgotten(): void;
}

/** How long a view is followed after its last client left. Watches time out and are reopened, which then costs nothing. */
const FOLLOWED_AFTER_RELEASE_MS = 5 * 60_000;
/** How often a refused shared view is tried again: a role may be granted, or a custom resource installed. */
const RETRY_SHARED_MS = 30_000;
/** How long a view that exceeded the size limit is not tried again. Meanwhile requests go to the API server. */
const TOO_LARGE_FOR_MS = 10 * 60_000;

/**
 * The life of one view, in three stages:
 *
 * - on disk only: `#record` describes what is stored. No memory is used for the objects.
 * - in memory: `hold` creates a MemoryView, and `#load` reads the objects from disk. It stays until the last release.
 * - followed: `follow` starts a watch that keeps the MemoryView current. It continues for a while after the last release.
 *
 * Loading is asynchronous, and views can be held, followed and dropped meanwhile. So every step that depends on the stored
 * objects awaits `#loading` first, and `drop` clears `#record`, which makes `#load` discard what it has read.
 */
export class ManagedView {
  readonly key: ViewKey;
  readonly #id: string;
  readonly #options: ManagedViewOptions;
  /** What is stored on disk. Up to date while the view is not in memory. */
  #record: ViewRecord | undefined;
  #view: MemoryView | undefined;
  #loading: Promise<void> = Promise.resolve();
  #loaded = false;
  #holders = 0;
  #usedAt: number;
  #follower: { stop: AbortController; done: Promise<void>; place: Place } | undefined;
  #refusal: { why: Error; at: number } | undefined;
  #refusals = 0;
  #cancelTimer = (): void => {};
  #closed = false;

  constructor(key: ViewKey, options: ManagedViewOptions, record?: ViewRecord) {
    this.key = key;
    this.#id = idOf(key);
    this.#options = options;
    this.#record = record;
    this.#usedAt = record?.progress.receivedAt ?? options.clock.now();
  }

  get holders(): number {
    return this.#holders;
  }

  get usedAt(): number {
    return this.#usedAt;
  }

  /** No client holds the view and it is not followed: it can be evicted. */
  get isIdle(): boolean {
    return this.#holders === 0 && this.#follower === undefined;
  }

  /** The view is still followed, although its last client has left. */
  get isLingering(): boolean {
    return this.#holders === 0 && this.#follower !== undefined;
  }

  get isFollowed(): boolean {
    return this.#view?.state === 'following';
  }

  /** Why the API server, or the size limit, refused the view the last time. */
  get refusal(): Error | undefined {
    return this.#refusal?.why;
  }

  /** Undefined while nothing is known of the view. */
  get progress(): ViewProgress | undefined {
    return this.#view?.resourceVersion === undefined ? this.#record?.progress : this.#view.progress();
  }

  /** Keeps the view in memory until `release`. Its objects may not have been read from disk yet: await `ready`. */
  hold(): { view: MemoryView; release(): void } {
    this.#holders++;
    this.#touch();
    const view = this.#open();
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      this.#holders--;
      this.#touch();
      this.#releaseIfIdle();
    };
    return { view, release };
  }

  /**
   * Keeps the view current from now on, if it is not followed already. The caller must hold it. Returns false if the client
   * has too many followed views.
   */
  follow(acquire: AcquireClient): boolean {
    if (this.#follower !== undefined || this.#closed) return true;
    const tooLarge = this.#refusal?.why instanceof ViewTooLargeError;
    if (tooLarge && this.#options.clock.now() - this.#refusal!.at < TOO_LARGE_FOR_MS) return true;
    const place = this.#options.enter();
    if (place === undefined) return false;
    this.#cancelTimer();
    this.#refusal = undefined;
    const view = this.#open();
    this.#updateWaiters();
    const stop = new AbortController();
    this.#follower = { stop, place, done: this.#follow(view, acquire, place, stop.signal) };
    return true;
  }

  /** Stops following a view that no client holds, to make place for another. */
  unfollow(): void {
    if (!this.isLingering) return;
    this.#cancelTimer();
    this.#stopFollowing().then(() => this.#releaseIfIdle());
  }

  /**
   * Stores a list that a client has read from the API server. Returns whether the view now shows this list, or something
   * newer. A followed view is not changed, because its watch delivers the same objects; if the watch is interrupted, the
   * view may be older than the list, and the result is false.
   */
  async store(list: CompleteList): Promise<boolean> {
    const { progress } = this;
    const isSame =
      progress?.resourceVersion === list.resourceVersion &&
      progress.size === list.items.length &&
      progress.overlaid === 0;
    if (isSame) return true;
    if (this.#follower !== undefined) return this.isFollowed;
    const { view, release } = this.hold();
    try {
      await this.#loading;
      // A client may have started to watch meanwhile.
      if (this.#follower !== undefined || this.#closed) return this.isFollowed;
      this.#refusal = undefined;
      view.replace(list.items, list.resourceVersion, list.listKind);
      return true;
    } finally {
      release();
    }
  }

  /** One object, from memory or else from disk. Does not load the view into memory. */
  async item(objectKey: string): Promise<ViewItem | undefined> {
    await this.#loading;
    if (this.#view?.resourceVersion !== undefined) return this.#view.get(objectKey);
    return this.#record && this.#options.storage.item(this.#id, objectKey);
  }

  /** Applies a write from the journal (see MemoryView.overlay), if the view contains the object. */
  async overlay(item: ViewItem): Promise<void> {
    await this.#loading;
    const present = this.#view?.get(item.key) !== undefined;
    if (this.#closed || !(present || this.#options.storage.hasItem(this.#id, item.key))) return;
    const { view, release } = this.hold();
    await this.#loading;
    view.overlay(item);
    release();
  }

  upstreamChanged(): void {
    this.#updateWaiters();
  }

  /**
   * Deletes the view from memory and disk. Everything up to the first `await` happens at once, so that a new view with the
   * same key can be created immediately. Watches end, with `why` as the reason.
   */
  async drop(why: Error): Promise<void> {
    this.#follower?.stop.abort();
    this.#record = undefined;
    this.#view?.refuse(why);
    this.#view?.clear();
    this.#options.storage.remove(this.#id);
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer();
    await this.#stopFollowing();
    await this.#loading;
  }

  #touch(): void {
    this.#usedAt = this.#options.clock.now();
  }

  #open(): MemoryView {
    if (this.#view !== undefined) return this.#view;
    const { storage, clock, log } = this.#options;
    const view = new MemoryView(this.key, storage, clock, log);
    this.#view = view;
    view.onUnobserved = () => this.#releaseIfIdle();
    this.#loaded = false;
    this.#loading = this.#load(view);
    return view;
  }

  async #load(view: MemoryView): Promise<void> {
    const { storage, log, clock } = this.#options;
    const record = this.#record;
    const stored: StoredItem[] = [];
    try {
      if (record !== undefined) for await (const item of storage.items(this.#id)) stored.push(item);
      if (record !== undefined && this.#record === record) view.restore(record, stored);
    } catch (error) {
      log.error(
        { err: error },
        'cannot read a stored view; clients of it wait until the API server is reachable',
      );
      const why = new Error('the hub cannot read the view from its disk', { cause: error });
      if (this.#follower === undefined) this.#refusal = { why, at: clock.now() };
    }
    this.#loaded = true;
    this.#updateWaiters();
    this.#releaseIfIdle();
  }

  /** Rejects the clients that wait for the first state if it cannot arrive now, and lets them wait if it can. */
  #updateWaiters(): void {
    if (!this.#loaded || this.#view?.state !== 'empty') return;
    const offline = this.#options.upstream.online
      ? undefined
      : new NothingStoredError(this.key.resource.resource);
    this.#view.setUnavailable(this.#refusal?.why ?? offline);
  }

  async #follow(view: MemoryView, acquire: AcquireClient, place: Place, signal: AbortSignal): Promise<void> {
    await this.#loading;
    if (signal.aborted) return;
    const { log, onGone, settledUpstream: upstream } = this.#options;
    const { client, release } = acquire();
    const onFollowing = (): void => {
      this.#refusals = 0;
    };
    const unsubscribe = view.subscribe((changes) => {
      for (const { type, item } of changes) if (type === 'delete') onGone(item.key);
    });
    const resize = (bytes: number): boolean => place.resize(bytes);
    const options = { ...this.#options, upstream, onFollowing, resize };
    const refusal: unknown = await follow(view, client, options, signal).catch((error) => error);
    unsubscribe();
    if (refusal !== undefined && !signal.aborted) this.#refused(view, asError(refusal), acquire);
    await release().catch((error) => log.error({ err: error }, 'cannot close the client of a view'));
  }

  /** The API server refused the view, or it exceeded the size limit. `discardsCopy` decides what happens to the copy. */
  #refused(view: MemoryView, why: Error, acquire: AcquireClient): void {
    const { clock, log, onTooLarge } = this.#options;
    this.#follower?.place.leave();
    this.#follower = undefined;
    this.#refusal = { why, at: clock.now() };
    this.#refusals++;
    const retries = this.key.identity === SHARED && this.#holders > 0;
    const next = retries
      ? `the hub tries again in ${RETRY_SHARED_MS / 1000} seconds`
      : 'the hub tries again when a client asks for it';
    log.warn({ err: why }, `cannot follow a view; ${next}`);
    view.refuse(why);
    const tooLarge = why instanceof ViewTooLargeError;
    if (tooLarge) onTooLarge();
    if (tooLarge || discardsCopy(this.key, why, this.#refusals)) {
      this.#record = undefined;
      view.clear();
    }
    if (retries) this.#cancelTimer = clock.after(RETRY_SHARED_MS, () => void this.follow(acquire));
    this.#releaseIfIdle();
  }

  /** Called whenever the view may have become idle. Unloads it, or schedules the end of following it. */
  #releaseIfIdle(): void {
    if (this.#holders > 0 || this.#closed) return;
    if (this.#follower === undefined) {
      this.#unload();
      return;
    }
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(FOLLOWED_AFTER_RELEASE_MS, () => {
      if (this.#holders > 0) return;
      this.#stopFollowing().then(() => this.#releaseIfIdle());
    });
  }

  /**
   * Removes the objects from memory. A view with subscribers stays until the last of them has left: they would miss the
   * changes of the MemoryView that the next `hold` creates.
   */
  #unload(): void {
    const view = this.#view;
    this.#cancelTimer();
    if (view === undefined || !this.#loaded || view.hasListeners) return;
    if (view.resourceVersion !== undefined) {
      this.#record = { key: this.key, listKind: view.listKind ?? '', progress: view.progress() };
    }
    this.#view = undefined;
    // That the view is too large must be remembered: `follow` would list all of it again.
    const isForgotten = this.#record === undefined && !(this.#refusal?.why instanceof ViewTooLargeError);
    if (isForgotten) this.#options.onForgotten();
    else this.#options.onIdle();
  }

  async #stopFollowing(): Promise<void> {
    const follower = this.#follower;
    follower?.stop.abort();
    follower?.place.leave();
    await follower?.done;
    if (this.#follower === follower) this.#follower = undefined;
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
