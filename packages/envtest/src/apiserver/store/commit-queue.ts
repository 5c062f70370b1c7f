/**
 * Group commit. The queue calls each writer immediately and synchronously, against the stored state plus all queued
 * changes. While the disk is busy, further writes join the queue; the next sync makes all of them durable at once.
 *
 * Invariants:
 * - Revisions are assigned in queue order, so the log, the history and the watches have the same order.
 * - Readers and watchers see a change only after it is durable. A crash can never take back what a client has seen.
 * - When a sync fails, every queued write fails with it, because it may have been decided on the failed state.
 */
import { asDiskError, DiskError } from '@tidegate/disk';
import { ownBytes } from './record.ts';
import type { State } from './state.ts';
import type { Change, Entry, Key, WriteResult, Writer } from './types.ts';

interface CommitQueueOptions {
  directory: string;
  state: State;
  /** Makes the changes durable, all or none. */
  append: (changes: readonly Change[]) => Promise<void>;
  /** Makes durable changes visible to readers and watchers. */
  publish: (changes: readonly Change[]) => void;
  /** Resolves if the disk has space for changes. */
  probe: () => Promise<void>;
  /** Called after each attempt to use the disk: with the error, or with undefined if it succeeded. */
  onOutcome: (error: DiskError | undefined) => void;
}

/** A write that waits for the disk. Without a change, it only waits for the writes before it. */
interface QueuedWrite {
  change: Change | undefined;
  /** Without a change, try whether the disk would accept one. */
  probes?: boolean;
  entry: Entry | undefined;
  resolve: (entry: Entry | undefined) => void;
  reject: (error: Error) => void;
}

/**
 * Serializes all writes of the store. There is one instance per data directory.
 *
 * Why writers run before the sync and not after it: optimistic concurrency needs the newest state, and that state may
 * still be queued. A writer therefore decides on `#pending` first and on the published state otherwise. The price is
 * that a failed sync invalidates every decision that came after it, see `#failAll`.
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  /** The newest change of each object that is queued or being synced. */
  readonly #pending = new Map<string, Change>();
  #queue: QueuedWrite[] = [];
  /** The last revision that was assigned. It is ahead of the published revision while writes are queued. */
  #revision: number;
  /** Set while `#flush` runs. At most one flush runs, so batches reach the log one after the other. */
  #flushing: Promise<void> | undefined;
  #closed = false;
  /** The last sync served several writers, so the next one probably will too. */
  #crowded = false;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
    this.#revision = options.state.revision;
  }

  /**
   * Calls the writer at once and queues its change. The promise resolves when the change is durable and published. It
   * rejects with the error of the writer, or with a DiskError if the sync fails.
   */
  write(key: Key, writer: Writer): Promise<Entry | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new DiskError('closed', 'the store is closed');
      const id = pendingKey(key.resource, key.namespace, key.name);
      const pending = this.#pending.get(id);
      const current = pending === undefined ? this.#options.state.get(key) : stateAfter(pending);
      const revision = this.#revision + 1;
      const result = writer(current, revision);
      // A nested write would have taken the revision that this writer already encoded into its value.
      if (this.#revision >= revision) throw new Error('a store writer must not write while it decides');

      const change = changeOf(key, current, revision, result);
      // Nothing changes and nothing is queued for this object, so the answer is already durable.
      if (change === undefined && pending === undefined) {
        resolve(current);
        return;
      }
      if (change !== undefined) {
        this.#revision = revision;
        this.#pending.set(id, change);
      }
      // A `keep` on a queued state also waits for the disk: its answer must not show a state that a crash could undo.
      this.#queue.push({ change, entry: change?.entry ?? current, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** Resolves once everything that is queued now is durable or has failed. */
  async flushed(): Promise<void> {
    if (this.#flushing === undefined) return;
    await new Promise<void>((resolve) => {
      const done = () => resolve();
      this.#queue.push({ change: undefined, entry: undefined, resolve: done, reject: done });
    });
  }

  /** Tries between two batches whether the disk accepts writes. The outcome goes to `onOutcome`. */
  probe(): void {
    if (this.#closed) return;
    const done = () => {};
    this.#queue.push({ change: undefined, probes: true, entry: undefined, resolve: done, reject: done });
    this.#flushing ??= this.#flush();
  }

  /** Rejects new writes and waits for the queued ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    // Under load, wait for one turn of the event loop, so that requests that arrived together share a sync. A single
    // writer would only lose time.
    await (this.#crowded ? new Promise(setImmediate) : Promise.resolve());
    while (this.#queue.length > 0) {
      // Writes that arrive during `append` go to the new array and form the next batch.
      const batch = this.#queue;
      this.#queue = [];
      const changes = batch.flatMap((write) => write.change ?? []);
      this.#crowded = changes.length > 1;
      const probes = batch.some((write) => write.probes);
      try {
        if (changes.length > 0) await this.#options.append(changes);
        else if (probes) await this.#options.probe();
      } catch (error) {
        this.#failAll(batch, error);
        continue;
      }
      if (changes.length > 0 || probes) this.#options.onOutcome(undefined);
      this.#publish(changes);
      for (const { entry, resolve } of batch) resolve(entry);
    }
    this.#flushing = undefined;
  }

  #publish(changes: readonly Change[]): void {
    for (const change of changes) {
      // A newer change of the same object may be queued already; it stays pending.
      const id = pendingKey(change.resource, change.entry.namespace, change.entry.name);
      if (this.#pending.get(id) === change) this.#pending.delete(id);
    }
    if (changes.length > 0) this.#options.publish(changes);
  }

  /** Writes queued behind a failed write were decided on a state that will never exist, so they fail as well. */
  #failAll(batch: readonly QueuedWrite[], cause: unknown): void {
    const error = asDiskError(this.#options.directory, cause);
    this.#options.onOutcome(error);
    const failed = [...batch, ...this.#queue];
    this.#queue = [];
    this.#pending.clear();
    for (const { reject } of failed) reject(error);
  }
}

/** Turns the decision of a writer into a change; undefined if nothing changes. */
function changeOf(
  key: Key,
  previous: Entry | undefined,
  revision: number,
  result: WriteResult,
): Change | undefined {
  if (result.type === 'keep' || (result.type === 'delete' && previous === undefined)) return undefined;
  const entry = {
    namespace: previous?.namespace ?? key.namespace,
    name: previous?.name ?? key.name,
    revision,
    value: ownBytes(result.value),
  };
  return { type: result.type, resource: key.resource, entry, previous };
}

/** The state of the object once the change is published. */
function stateAfter(change: Change): Entry | undefined {
  return change.type === 'put' ? change.entry : undefined;
}

/** Namespaces and names cannot contain `/`, so each object has a unique key. */
function pendingKey(resource: string, namespace: string, name: string): string {
  return `${namespace}/${name}/${resource}`;
}
