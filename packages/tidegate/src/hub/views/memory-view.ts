import { type Clock, isOlderVersion, type Logger, Tombstones } from '@tidegate/kube';
import { difference } from './difference.ts';
import type { StoredItem, ViewProgress, ViewRecord, ViewStorage } from './storage.ts';
import type { View, ViewChange, ViewItem, ViewKey, ViewListener } from './view.ts';
import { idOf } from './view-key.ts';
import { Waiters } from './waiters.ts';

/**
 * A view whose objects are in memory, and on disk with every change. Who keeps it current tells it what the API server
 * says: a whole list, an event, a bookmark.
 */
export class MemoryView implements View {
  readonly key: ViewKey;
  readonly #id: string;
  readonly #storage: ViewStorage;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #items = new Map<string, ViewItem>();
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
  #heardAt = 0;

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

  /** Whether a watch upstream keeps it current. */
  get followed(): boolean {
    return this.#followed;
  }

  set followed(followed: boolean) {
    this.#followed = followed;
    if (followed) for (const listener of [...this.#followingListeners]) this.#tell(listener);
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

  get heardAt(): number {
    return this.#heardAt;
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

  /** Why the first state can not come now; whoever waits for it is told. Undefined: it may come again. */
  despair(why: Error | undefined): void {
    this.#waiters.despair(why);
  }

  /** What the disk had. Nobody can have told the view anything newer yet. */
  restore({ listKind, progress }: ViewRecord, stored: readonly StoredItem[]): void {
    this.#listKind = listKind;
    this.#heardAt = progress.heardAt;
    for (const { item, overlaid } of stored) if (overlaid) this.#overlaid.add(item.key);
    const changes = stored.map(({ item }): ViewChange => ({ type: 'put', item, previous: undefined }));
    for (const change of changes) this.#place(change);
    this.#resourceVersion = progress.resourceVersion;
    this.#announce(changes, progress.resourceVersion);
    this.#waiters.arrived();
  }

  /** The complete state at `resourceVersion`; what is not in it is gone. */
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
    this.#commit(changes, resourceVersion, { leap: true });
  }

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

  /** Shows what the node has written while the link is away, until the API server says something of the object. */
  overlay(item: ViewItem): void {
    const previous = this.#items.get(item.key);
    if (previous === undefined || isOlderVersion(item.resourceVersion, previous.resourceVersion)) return;
    this.#overlaid.add(item.key);
    this.#commit([{ type: 'put', item, previous }], this.#resourceVersion!, { heardAt: this.#heardAt });
  }

  /** The API server does not let us have it. Watches end first: to them the objects are not deleted. */
  refuse(why: Error): void {
    this.followed = false;
    for (const listener of [...this.#refusalListeners]) this.#tell(() => listener(why));
    this.despair(why);
  }

  /** Nothing is left, in memory or on disk. Whoever still listens sees everything go. */
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
    const { heardAt, size, bytes } = this;
    return {
      resourceVersion: this.#resourceVersion ?? '',
      heardAt,
      size,
      bytes,
      overlaid: this.#overlaid.size,
    };
  }

  /** After reconnecting to a server that lags behind, the past may come again. */
  #isStale({ key, resourceVersion }: ViewItem): boolean {
    const present = this.#items.get(key)?.resourceVersion;
    return this.#tombstones.isBuried(key, resourceVersion) || isOlderVersion(resourceVersion, present);
  }

  #changeOf(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: ViewItem): ViewChange | undefined {
    const previous = this.#items.get(item.key);
    if (type === 'DELETED') return previous && { type: 'delete', item, previous };
    const repeated = previous?.resourceVersion === item.resourceVersion && !this.#overlaid.has(item.key);
    return repeated ? undefined : { type: 'put', item, previous };
  }

  #commit(
    changes: readonly ViewChange[],
    resourceVersion: string,
    { heardAt = this.#clock.now(), leap = false } = {},
  ): void {
    for (const change of changes) this.#place(change);
    for (const { type, item } of changes) {
      const overlaid = this.#overlaid.has(item.key);
      if (type === 'put') this.#storage.putItem(this.#id, { item, overlaid });
      else this.#storage.deleteItem(this.#id, item.key);
    }
    this.#heardAt = heardAt;
    this.#resourceVersion = resourceVersion;
    this.#storage.putProgress(this.#id, this.progress());
    this.#announce(changes, resourceVersion, leap);
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

  #announce(changes: readonly ViewChange[], resourceVersion: string, leap = false): void {
    for (const listener of [...this.#listeners]) this.#tell(() => listener(changes, resourceVersion, leap));
  }

  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#log.error({ err: error }, 'a listener of a view threw');
    }
  }
}
