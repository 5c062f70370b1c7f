import type { Clock, KubeClient, Link, Logger } from '@tidegate/kube';
import { NothingStoredError, ViewTooLargeError } from './errors.ts';
import { type FollowOptions, follow } from './follow.ts';
import { MemoryView } from './memory-view.ts';
import type { CompleteList } from './pages.ts';
import { losesCopy } from './refusal.ts';
import type { StoredItem, ViewProgress, ViewRecord, ViewStorage } from './storage.ts';
import type { ViewItem, ViewKey } from './view.ts';
import { idOf, SHARED } from './view-key.ts';

export type Lend = () => { client: KubeClient; giveBack(): Promise<void> };

export interface ManagedViewOptions extends Omit<FollowOptions, 'onFollowing'> {
  clock: Clock;
  upstream: Link;
  /** By which it is followed. */
  settledUpstream: Link;
  log: Logger;
  storage: ViewStorage;
  /** Whoever follows a view sees an object go. */
  onGone(objectKey: string): void;
  onTooLarge(): void;
  /** Nobody holds it, and nothing is worth remembering of it. */
  onForgotten(): void;
}

/** Clients come back: a watch that ended is often opened again soon. */
const FOLLOWED_AFTER_RELEASE_MS = 5 * 60_000;
/** What the node needs is asked for again: somebody may grant it, or install the resource. */
const RETRY_SHARED_MS = 30_000;
const TOO_LARGE_FOR_MS = 10 * 60_000;

/** One view through its life: on disk only, in memory while somebody holds it, followed while somebody watches it. */
export class ManagedView {
  readonly key: ViewKey;
  readonly #id: string;
  readonly #options: ManagedViewOptions;
  /** What is on disk, while it is not in memory. */
  #record: ViewRecord | undefined;
  #view: MemoryView | undefined;
  #loading: Promise<void> = Promise.resolve();
  #loaded = false;
  #holders = 0;
  #usedAt: number;
  #follower: { stop: AbortController; done: Promise<void> } | undefined;
  #refusal: { why: Error; at: number } | undefined;
  #refusals = 0;
  #cancelTimer = (): void => {};
  #closed = false;

  constructor(key: ViewKey, options: ManagedViewOptions, record?: ViewRecord) {
    this.key = key;
    this.#id = idOf(key);
    this.#options = options;
    this.#record = record;
    this.#usedAt = record?.progress.heardAt ?? options.clock.now();
  }

  get holders(): number {
    return this.#holders;
  }

  get usedAt(): number {
    return this.#usedAt;
  }

  get isIdle(): boolean {
    return this.#holders === 0 && this.#follower === undefined;
  }

  get isFollowed(): boolean {
    return this.#view?.state === 'following';
  }

  get refusal(): Error | undefined {
    return this.#refusal?.why;
  }

  /** Undefined while nothing is known of it. */
  get progress(): ViewProgress | undefined {
    return this.#view?.resourceVersion === undefined ? this.#record?.progress : this.#view.progress();
  }

  /** In memory until it is released. Its objects may still be on their way from the disk: see `ready`. */
  hold(): { view: MemoryView; release(): void } {
    this.#holders++;
    this.#use();
    const view = this.#open();
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      this.#holders--;
      this.#use();
      this.#rest();
    };
    return { view, release };
  }

  /** Keeps it current from now on. Hold it. */
  follow(lend: Lend): void {
    if (this.#follower !== undefined || this.#closed) return;
    const tooLarge = this.#refusal?.why instanceof ViewTooLargeError;
    if (tooLarge && this.#options.clock.now() - this.#refusal!.at < TOO_LARGE_FOR_MS) return;
    this.#cancelTimer();
    this.#refusal = undefined;
    const view = this.#open();
    this.#hope();
    const stop = new AbortController();
    this.#follower = { stop, done: this.#follow(view, lend, stop.signal) };
  }

  /** A list that a client has read. Who follows a view knows better. Whether the view shows now what the list says. */
  async store(list: CompleteList): Promise<boolean> {
    const { progress } = this;
    const same =
      progress?.resourceVersion === list.resourceVersion &&
      progress.size === list.items.length &&
      progress.overlaid === 0;
    if (same) return true;
    if (this.#follower !== undefined) return this.isFollowed;
    const { view, release } = this.hold();
    try {
      await this.#loading;
      if (this.#follower !== undefined || this.#closed) return this.isFollowed;
      this.#refusal = undefined;
      view.replace(list.items, list.resourceVersion, list.listKind);
      return true;
    } finally {
      release();
    }
  }

  async item(objectKey: string): Promise<ViewItem | undefined> {
    await this.#loading;
    if (this.#view?.resourceVersion !== undefined) return this.#view.get(objectKey);
    return this.#record && this.#options.storage.item(this.#id, objectKey);
  }

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
    this.#hope();
  }

  /** Forgets everything, in memory and on disk, at once; whoever watches is told why. */
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

  #use(): void {
    this.#usedAt = this.#options.clock.now();
  }

  #open(): MemoryView {
    if (this.#view !== undefined) return this.#view;
    const { storage, clock, log } = this.#options;
    const view = new MemoryView(this.key, storage, clock, log);
    this.#view = view;
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
      log.error({ err: error }, 'a stored view can not be read; it waits for the API server');
      const why = new Error('it is stored, but can not be read', { cause: error });
      if (this.#follower === undefined) this.#refusal = { why, at: clock.now() };
    }
    this.#loaded = true;
    this.#hope();
    this.#rest();
  }

  /** Tells those who wait for the first state whether there is a point in it. */
  #hope(): void {
    if (!this.#loaded || this.#view?.state !== 'empty') return;
    const away = this.#options.upstream.online
      ? undefined
      : new NothingStoredError(this.key.resource.resource);
    this.#view.despair(this.#refusal?.why ?? away);
  }

  async #follow(view: MemoryView, lend: Lend, signal: AbortSignal): Promise<void> {
    await this.#loading;
    if (signal.aborted) return;
    const { log, onGone, settledUpstream: upstream } = this.#options;
    const { client, giveBack } = lend();
    const onFollowing = (): void => {
      this.#refusals = 0;
    };
    const unsubscribe = view.subscribe((changes) => {
      for (const { type, item } of changes) if (type === 'delete') onGone(item.key);
    });
    const options = { ...this.#options, upstream, onFollowing };
    const refusal: unknown = await follow(view, client, options, signal).catch((error) => error);
    unsubscribe();
    if (refusal !== undefined && !signal.aborted) this.#refused(view, asError(refusal), lend);
    await giveBack().catch((error) => log.error({ err: error }, 'can not close a client'));
  }

  #refused(view: MemoryView, why: Error, lend: Lend): void {
    const { clock, log, onTooLarge } = this.#options;
    this.#follower = undefined;
    this.#refusal = { why, at: clock.now() };
    this.#refusals++;
    const again = this.key.identity === SHARED && this.#holders > 0;
    const next = again ? 'it is asked again' : 'it is no longer followed';
    log.warn({ err: why }, `the API server refuses a view; ${next}`);
    view.refuse(why);
    const tooLarge = why instanceof ViewTooLargeError;
    if (tooLarge) onTooLarge();
    if (tooLarge || losesCopy(this.key, why, this.#refusals)) {
      this.#record = undefined;
      view.clear();
    }
    if (again) this.#cancelTimer = clock.after(RETRY_SHARED_MS, () => this.follow(lend));
    this.#rest();
  }

  /** Called when it may have become idle: what nobody needs is not kept in memory. */
  #rest(): void {
    if (this.#holders > 0 || this.#closed) return;
    if (this.#follower === undefined) {
      this.#unload();
      return;
    }
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(FOLLOWED_AFTER_RELEASE_MS, () => {
      if (this.#holders > 0) return;
      this.#stopFollowing().then(() => this.#rest());
    });
  }

  /** Those who listen without holding it would not hear of a second one. */
  #unload(): void {
    const view = this.#view;
    this.#cancelTimer();
    if (view === undefined || !this.#loaded || view.hasListeners) return;
    if (view.resourceVersion !== undefined) {
      this.#record = { key: this.key, listKind: view.listKind ?? '', progress: view.progress() };
    }
    this.#view = undefined;
    const worthless = this.#record === undefined && !(this.#refusal?.why instanceof ViewTooLargeError);
    if (worthless) this.#options.onForgotten();
  }

  async #stopFollowing(): Promise<void> {
    const follower = this.#follower;
    follower?.stop.abort();
    await follower?.done;
    if (this.#follower === follower) this.#follower = undefined;
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
