/**
 * The contract of the store: a multi-version map from (resource, namespace, name) to JSON bytes.
 *
 * - One counter, `revision`, increases with every change and becomes the resourceVersion of the object. An empty store
 *   is at revision 1, because clients read resourceVersion 0 as "any version". Revisions of failed writes are not
 *   reused, so there can be gaps.
 * - Readers and watchers see only durable changes: a change is published after it is synced to disk.
 *   Writers are also checked against changes that are queued but not yet durable, so two writers cannot both win.
 * - Values are immutable Buffers. A list copies stored bytes to the client and does not encode them again.
 */
import type { DiskError } from '@tidegate/disk';

/** Identifies an object. `namespace` is '' for cluster-scoped objects. */
export interface Key {
  /** Storage name of the resource, unique across all groups, for example `pods` or `apps/deployments`. */
  resource: string;
  namespace: string;
  name: string;
}

/**
 * One state of an object. Entries are immutable; a change creates a new one. Other code relies on that to cache by
 * entry.
 */
export interface Entry {
  readonly namespace: string;
  readonly name: string;
  /** Revision of the last change, which is the resourceVersion of the object. */
  readonly revision: number;
  /** The object as JSON in its storage version. It includes the resourceVersion. */
  readonly value: Buffer;
}

/** A durable change. The `entry` of a delete holds the last state, with the revision of the deletion. */
export interface Change {
  readonly type: 'put' | 'delete';
  readonly resource: string;
  readonly entry: Entry;
  /** The state before the change; undefined if the change created the object. */
  readonly previous: Entry | undefined;
}

export interface ListOptions {
  /** Restricts the list to a namespace; '' and undefined mean all namespaces. */
  namespace?: string;
  /** Lists the state at this revision. Default: the newest. Throws CompactedError if it is no longer kept. */
  revision?: number;
  /** 0 and undefined mean no limit. */
  limit?: number;
  /** Starts after this object; used for continue tokens. */
  after?: { namespace: string; name: string };
}

export interface ListResult {
  entries: Entry[];
  /** The revision of the list. */
  revision: number;
  /** Number of entries after the last one returned. */
  remaining: number;
}

export interface WatchOptions {
  /** Restricts the watch to a namespace; '' and undefined mean all namespaces. */
  namespace?: string;
  name?: string;
  /**
   * Deliver every change after this revision: first the kept changes, immediately, then new ones as they happen. Throws
   * CompactedError if the revision is no longer kept. If the revision is in the future, the watch starts there.
   */
  fromRevision: number;
}

/**
 * The decision of a writer. `keep` leaves the object unchanged and assigns no revision, as does a delete of an object
 * that does not exist. The value of a delete is the last state of the object, with the revision of the deletion in it.
 */
export type WriteResult =
  | { type: 'put'; value: Buffer }
  | { type: 'delete'; value: Buffer }
  | { type: 'keep' };

/**
 * Decides on a change synchronously. It receives the newest state of the object, including queued writes, and the
 * revision that the change will have. If it throws, nothing is written and `write` rejects with the same error.
 */
export type Writer = (current: Entry | undefined, revision: number) => WriteResult;

/** A durable map with revisions and watches. `openStore` creates it. */
export interface Store {
  /** The newest published revision. */
  readonly revision: number;
  /**
   * Why writes fail at the moment; undefined if they succeed. Reads are not affected. The store tries every second whether
   * writes succeed again.
   */
  readonly trouble: DiskError | undefined;
  /** The oldest revision from which list and watch can start. */
  readonly compactedRevision: number;
  get(key: Key): Entry | undefined;
  list(resource: string, options?: ListOptions): ListResult;
  count(resource: string): number;
  /** Calls `listener` with the changes in order and in batches. Returns a function that ends the watch. */
  watch(resource: string, options: WatchOptions, listener: (changes: readonly Change[]) => void): () => void;
  /**
   * Watches all resources from now on. Used by the controllers and caches of the server, which list first and then
   * watch.
   */
  watchAll(listener: (changes: readonly Change[]) => void): () => void;
  /** All resources that have objects. */
  resources(): string[];
  /**
   * Resolves with the written entry when the change is durable; for `keep`, with the unchanged entry once it is
   * durable. Rejects with a DiskError if the change cannot be made durable. Such a change never becomes visible.
   */
  write(key: Key, writer: Writer): Promise<Entry | undefined>;
  /** Resolves once everything queued before the call is durable or has failed, so that `get` is up to date. */
  flushed(): Promise<void>;
  /** Finishes the queued writes, then releases the directory. */
  close(): Promise<void>;
}

/** A list or watch requested a revision that is no longer kept. */
export class CompactedError extends Error {
  readonly requested: number;
  readonly oldest: number;

  constructor(requested: number, oldest: number) {
    super(`revision ${requested} is no longer kept; the oldest kept revision is ${oldest}`);
    this.name = 'CompactedError';
    this.requested = requested;
    this.oldest = oldest;
  }
}

/** A list requested a revision that does not exist yet. */
export class FutureRevisionError extends Error {
  readonly requested: number;
  readonly current: number;

  constructor(requested: number, current: number) {
    super(`revision ${requested} is in the future; the current revision is ${current}`);
    this.name = 'FutureRevisionError';
    this.requested = requested;
    this.current = current;
  }
}
