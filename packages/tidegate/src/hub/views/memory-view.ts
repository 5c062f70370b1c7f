import { type Clock, isOlderVersion, type Logger, Tombstones } from '@tidegate/kube';
import { difference } from './difference.ts';
import type { StoredItem, ViewProgress, ViewRecord, ViewStorage } from './storage.ts';
import type { View, ViewChange, ViewItem, ViewKey, ViewListener } from './view.ts';
import { idOf } from './view-key.ts';
import { Waiters } from './waiters.ts';

/**
 * A view whose objects are in memory. Every change is written to memory and disk and reported to the subscribers in one
 * synchronous step, so none of them can see a state that the others do not have.
 *
 * `follow.ts` feeds it with what the API server sends: `replace` for a complete list, `apply` for an event, `bookmark`.
 */
export class MemoryView implements View {
  readonly key: ViewKey;
  readonly #id: string;
  readonly #storage: ViewStorage;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #items = new Map<string, ViewItem>();
  /** The keys of objects with a write of the node that the API server has not confirmed, see `overlay`. */
  readonly #overlaid = new Set<string>();
  readonly #tombstones = new Tombstones();
  readonly #listeners = new Set<ViewListener>();
  readonly #refusalListeners = new Set<(why: Error) => void>();
  readonly #followingListeners = new Set<() => void>();
  readonly #waiters = new Waiters();
  #followed = false;
  #resourceVersion: string | undefined;
  #listKind: string | undefined;
  #bytes = 0;
  #receivedAt = 0;

  constructor(key: ViewKey, storage: ViewStorage, clock: Clock, log: Logger) {
    this.key = key;
    this.#id = idOf(key);
    this.#storage = storage;
    this.#clock = clock;
    this.#log = log;
  }

  get state(): View['state'] {
    if (this.#resourceVersion === undefined) return 'empty';
    return this.#followed ? 'following' : 'stored';
  }

  /** Whether a watch upstream keeps the view current. */
  get followed(): boolean {
    return this.#followed;
  }

  set followed(followed: boolean) {
    this.#followed = followed;
    if (followed) for (const listener of [...this.#followingListeners]) this.#call(listener);
  }

  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  get kind(): string | undefined {
    return this.#listKind?.replace(/List$/, '');
  }

  get listKind(): string | undefined {
    return this.#listKind;
  }

  get size(): number {
    return this.#items.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** When the last list, event or bookmark arrived, in milliseconds since the epoch. */
  get receivedAt(): number {
    return this.#receivedAt;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  get(key: string): ViewItem | undefined {
    return this.#items.get(key);
  }

  items(): IterableIterator<ViewItem> {
    return this.#items.values();
  }

  subscribe(listener: ViewListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onRefused(listener: (why: Error) => void): () => void {
    this.#refusalListeners.add(listener);
    return () => this.#refusalListeners.delete(listener);
  }

  onFollowing(listener: () => void): () => void {
    this.#followingListeners.add(listener);
    return () => this.#followingListeners.delete(listener);
  }

  ready(signal: AbortSignal): Promise<void> {
    return this.#resourceVersion === undefined ? this.#waiters.wait(signal) : Promise.resolve();
  }

  /**
   * While the view is empty, sets why its first state cannot arrive. `ready` rejects with the reason. Undefined: the state
   * may arrive, and `ready` waits.
   */
  setUnavailable(why: Error | undefined): void {
    this.#waiters.setUnavailable(why);
  }

  /** Loads what is stored on disk. Must be called before anything newer arrives. */
  restore({ listKind, progress }: ViewRecord, stored: readonly StoredItem[]): void {
    this.#listKind = listKind;
    this.#receivedAt = progress.receivedAt;
    for (const { item, overlaid } of stored) if (overlaid) this.#overlaid.add(item.key);
    const changes = stored.map(({ item }): ViewChange => ({ type: 'put', item, previous: undefined }));
    for (const change of changes) this.#place(change);
    this.#resourceVersion = progress.resourceVersion;
    this.#announce(changes, progress.resourceVersion);
    this.#waiters.arrived();
  }

  /** Applies a complete list at `resourceVersion`. Objects that are not in the list are deleted. */
  replace(list: readonly ViewItem[], resourceVersion: string, listKind: string): void {
    const state = { items: this.#items, resourceVersion: this.#resourceVersion, overlaid: this.#overlaid };
    const changes = difference(state, list, resourceVersion);
    if (this.#resourceVersion === undefined) this.#storage.deleteItems(this.#id);
    if (this.#listKind !== listKind || this.#resourceVersion === undefined) {
      this.#listKind = listKind;
      this.#storage.putRecord(this.#id, this.key, listKind);
    }
    this.#tombstones.clear();
    this.#overlaid.clear();
    this.#commit(changes, resourceVersion, { relisted: true });
  }

  /**
   * Applies one event of a watch. A stale event changes no object. The version of the view never decreases here: only
   * `replace` can move it back, after the API server was restored from a backup.
   */
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: ViewItem): void {
    const stale = this.#isStale(item);
    const change = stale ? undefined : this.#changeOf(type, item);
    if (!stale) this.#overlaid.delete(item.key);
    if (!stale && type === 'DELETED') this.#tombstones.bury(item.key, item.resourceVersion);
    const older = isOlderVersion(item.resourceVersion, this.#resourceVersion);
    this.#commit(change === undefined ? [] : [change], older ? this.#resourceVersion! : item.resourceVersion);
  }

  bookmark(resourceVersion: string): void {
    this.#commit([], resourceVersion);
  }

  /**
   * Shows a write of the node that is only in the journal, until the API server sends the object again (`apply` or
   * `replace`).
   *
   * The write does not change the version of the view, from which the watch will resume, nor the time at which the API
   * server last sent something. An object that the view does not contain is not added: whether it matches the selectors of the
   * view is not known. A write that is based on an older version than the view has is ignored, because the API server has
   * sent a newer object since.
   */
  overlay(item: ViewItem): void {
    const previous = this.#items.get(item.key);
    if (previous === undefined || isOlderVersion(item.resourceVersion, previous.resourceVersion)) return;
    this.#overlaid.add(item.key);
    this.#commit([{ type: 'put', item, previous }], this.#resourceVersion!, { receivedAt: this.#receivedAt });
  }

  /**
   * Reports that the API server refused the view. Must be called before `clear`: the listeners end their watches, so that
   * clients do not take the missing permission for the deletion of all objects.
   */
  refuse(why: Error): void {
    this.followed = false;
    for (const listener of [...this.#refusalListeners]) this.#call(() => listener(why));
    this.setUnavailable(why);
  }

  /** Deletes all objects, in memory and on disk. Remaining subscribers see them as deleted. */
  clear(): void {
    const resourceVersion = this.#resourceVersion;
    this.#storage.remove(this.#id);
    if (resourceVersion === undefined) return;
    const changes = [...this.#items.values()].map(
      (item): ViewChange => ({ type: 'delete', item, previous: item }),
    );
    for (const change of changes) this.#place(change);
    this.#overlaid.clear();
    this.#announce(changes, resourceVersion);
    this.#resourceVersion = undefined;
  }

  progress(): ViewProgress {
    const { receivedAt, size, bytes } = this;
    return {
      resourceVersion: this.#resourceVersion ?? '',
      receivedAt,
      size,
      bytes,
      overlaid: this.#overlaid.size,
    };
  }

  /**
   * Whether the view already has a newer state of the object, or its deletion. After the watch has moved to an API server
   * that lags behind, events arrive a second time.
   */
  #isStale({ key, resourceVersion }: ViewItem): boolean {
    const present = this.#items.get(key)?.resourceVersion;
    return this.#tombstones.isBuried(key, resourceVersion) || isOlderVersion(resourceVersion, present);
  }

  #changeOf(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: ViewItem): ViewChange | undefined {
    const previous = this.#items.get(item.key);
    if (type === 'DELETED') return previous && { type: 'delete', item, previous };
    // An overlaid object has the version of the object that it is based on: an event with this version is not a repetition.
    const repeated = previous?.resourceVersion === item.resourceVersion && !this.#overlaid.has(item.key);
    return repeated ? undefined : { type: 'put', item, previous };
  }

  /** The single place where memory, disk and subscribers change. It must stay synchronous, see ViewStorage. */
  #commit(
    changes: readonly ViewChange[],
    resourceVersion: string,
    { receivedAt = this.#clock.now(), relisted = false } = {},
  ): void {
    for (const change of changes) this.#place(change);
    for (const { type, item } of changes) {
      const overlaid = this.#overlaid.has(item.key);
      if (type === 'put') this.#storage.putItem(this.#id, { item, overlaid });
      else this.#storage.deleteItem(this.#id, item.key);
    }
    this.#receivedAt = receivedAt;
    this.#resourceVersion = resourceVersion;
    this.#storage.putProgress(this.#id, this.progress());
    this.#announce(changes, resourceVersion, relisted);
    this.#waiters.arrived();
  }

  #place({ type, item, previous }: ViewChange): void {
    this.#bytes -= previous?.bytes.length ?? 0;
    if (type === 'delete') this.#items.delete(item.key);
    else {
      this.#items.set(item.key, item);
      this.#bytes += item.bytes.length;
    }
  }

  #announce(changes: readonly ViewChange[], resourceVersion: string, relisted = false): void {
    for (const listener of [...this.#listeners])
      this.#call(() => listener(changes, resourceVersion, relisted));
  }

  /** A listener that throws must not affect the others, nor the view. */
  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#log.error({ err: error }, 'a listener of a view failed; this is a bug in the hub');
    }
  }
}
