/**
 * The contract of the store: a multi-version map from (resource, namespace, name) to JSON bytes.
 *
 * - One counter, `revision`, grows with every change; it is the objects' resourceVersion. An empty store stands at 1,
 *   because clients read resourceVersion 0 as "any". Writes that failed leave gaps: their numbers are not used again.
 * - What a reader or watcher sees is durable: a change is published after it was synced to disk, never before.
 *   Writers are checked against what is queued but not yet durable, so two writers can not both win.
 * - Values are immutable Buffers. A list is answered by writing stored bytes out, not by encoding again.
 */

/** Where an object lives. `namespace` is '' for cluster-scoped objects. */
export interface Key {
  /** Storage name of the resource, unique over all groups: `pods`, `apps/deployments`. */
  resource: string;
  namespace: string;
  name: string;
}

export interface Entry {
  readonly namespace: string;
  readonly name: string;
  /** Revision of the last change: the object's resourceVersion. */
  readonly revision: number;
  /** The object as JSON, in its storage version, resourceVersion already in it. */
  readonly value: Buffer;
}

/** A change, once durable. `entry` of a delete holds the last state, with the revision of the deletion. */
export interface Change {
  readonly type: 'put' | 'delete';
  readonly resource: string;
  readonly entry: Entry;
  /** The state before; undefined when the object was created. */
  readonly previous: Entry | undefined;
}

export interface ListOptions {
  /** Only this namespace; '' and undefined mean all. */
  namespace?: string;
  /** Read the state as of this revision; default: the newest. Throws CompactedError when it is no longer kept. */
  revision?: number;
  /** 0 and undefined mean no limit. */
  limit?: number;
  /** Start after this object (continue token). */
  after?: { namespace: string; name: string };
}

export interface ListResult {
  entries: Entry[];
  /** The revision that the list shows. */
  revision: number;
  /** How many entries stand behind the last one returned. */
  remaining: number;
}

export interface WatchOptions {
  /** Only this namespace; '' and undefined mean all. */
  namespace?: string;
  name?: string;
  /**
   * Deliver every change after this revision: first the kept ones, at once, then new ones as they come. Throws
   * CompactedError when it is no longer kept; one that is still to come is waited for.
   */
  fromRevision: number;
}

/**
 * What a writer wants done. `keep`: leave the object as it is (no new revision); so does a delete of what is not
 * there. The value of a delete is the object's last state, with the revision of the deletion in it.
 */
export type WriteResult =
  | { type: 'put'; value: Buffer }
  | { type: 'delete'; value: Buffer }
  | { type: 'keep' };

/**
 * Decides on a change, synchronously, seeing the object's newest state (queued writes included) and the revision
 * that the change will get. It may throw: then nothing is written and `write` rejects with what it threw.
 */
export type Writer = (current: Entry | undefined, revision: number) => WriteResult;

export interface Store {
  /** Newest published revision. */
  readonly revision: number;
  /** Oldest revision that list and watch can still start from. */
  readonly compactedRevision: number;
  get(key: Key): Entry | undefined;
  list(resource: string, options?: ListOptions): ListResult;
  count(resource: string): number;
  /** Calls `listener` with changes in order, in batches; returns the function that ends the watch. */
  watch(resource: string, options: WatchOptions, listener: (changes: readonly Change[]) => void): () => void;
  /** Every change of every resource: for collectors and caches inside the server. */
  watchAll(listener: (changes: readonly Change[]) => void): () => void;
  /** All resources that have objects. */
  resources(): string[];
  /**
   * Resolves when the change is durable, with the entry written (for `keep` the unchanged one, once that is durable).
   * Rejects with a StoreError when it could not be made durable; then nothing of it is ever seen.
   */
  write(key: Key, writer: Writer): Promise<Entry | undefined>;
  /** Resolves once everything queued before the call is durable or has failed: what `get` then shows is up to date. */
  flushed(): Promise<void>;
  /** Finishes the queued writes, then gives the directory back. */
  close(): Promise<void>;
}

/** A list or watch asked for a revision older than the kept window. */
export class CompactedError extends Error {
  readonly requested: number;
  readonly oldest: number;

  constructor(requested: number, oldest: number) {
    super(`revision ${requested} is no longer kept; the oldest kept is ${oldest}`);
    this.name = 'CompactedError';
    this.requested = requested;
    this.oldest = oldest;
  }
}

/** A list asked for a revision that does not exist yet. */
export class FutureRevisionError extends Error {
  readonly requested: number;
  readonly current: number;

  constructor(requested: number, current: number) {
    super(`revision ${requested} is in the future; the current one is ${current}`);
    this.name = 'FutureRevisionError';
    this.requested = requested;
    this.current = current;
  }
}
