/**
 * The most recent changes. Watches resume from them, and lists at an older revision are computed by undoing them, which
 * is what etcd offers through its revisions. Like etcd's compaction, the limits bound how far back clients can go; here
 * they are a number of changes and the bytes that only the history keeps alive.
 */
import type { Change } from './types.ts';

export interface HistoryLimits {
  changes: number;
  bytes: number;
}

/** Approximate memory of a change, without its values. */
const CHANGE_OVERHEAD = 200;

/** The changes of the last revisions, in memory only. After a restart it starts at the snapshot that was loaded. */
export class History {
  readonly #limits: HistoryLimits;
  /** All changes in order, to drop the oldest first. */
  readonly #changes = new ChangeQueue();
  /** The same changes by resource, so that a reader pays only for the changes of its resource. */
  readonly #byResource = new Map<string, ChangeQueue>();
  #bytes = 0;
  #compactedRevision: number;

  constructor(limits: HistoryLimits, compactedRevision: number) {
    this.#limits = limits;
    this.#compactedRevision = compactedRevision;
  }

  /** The oldest revision whose state can be reconstructed: every later change is kept. */
  get compactedRevision(): number {
    return this.#compactedRevision;
  }

  /** Adds the newest change and drops the oldest ones until the limits hold again. */
  add(change: Change): void {
    this.#changes.push(change);
    let queue = this.#byResource.get(change.resource);
    if (queue === undefined) {
      queue = new ChangeQueue();
      this.#byResource.set(change.resource, queue);
    }
    queue.push(change);
    this.#bytes += bytesHeldBy(change);
    while (this.#changes.length > this.#limits.changes || this.#bytes > this.#limits.bytes)
      this.#dropOldest();
  }

  /** The kept changes of a resource after `revision`, oldest first. */
  after(resource: string, revision: number): Change[] {
    return this.#byResource.get(resource)?.after(revision) ?? [];
  }

  #dropOldest(): void {
    const oldest = this.#changes.shift();
    if (oldest === undefined) return;
    this.#bytes -= bytesHeldBy(oldest);
    this.#compactedRevision = oldest.entry.revision;
    const queue = this.#byResource.get(oldest.resource);
    queue?.shift();
    if (queue?.length === 0) this.#byResource.delete(oldest.resource);
  }
}

/** The new value of a put is either live or the `previous` value of a later change, so it is not counted here. */
function bytesHeldBy({ type, entry, previous }: Change): number {
  return CHANGE_OVERHEAD + (previous?.value.length ?? 0) + (type === 'delete' ? entry.value.length : 0);
}

/** A first-in, first-out queue with binary search by revision. */
class ChangeQueue {
  #items: (Change | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(change: Change): void {
    this.#items.push(change);
  }

  shift(): Change | undefined {
    const change = this.#items[this.#head];
    if (change === undefined) return undefined;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    // Compacting the array only when half of it is empty keeps the amortized cost of a shift constant.
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return change;
  }

  after(revision: number): Change[] {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#items[middle]!.entry.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#items.slice(low).filter((change) => change !== undefined);
  }
}
