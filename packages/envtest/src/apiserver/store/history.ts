/**
 * The last changes: what watches resume from and what lists of an older revision are undone with. Bounded by number
 * and by the bytes that nothing but the history keeps alive.
 */
import type { Change } from './types.ts';

export interface HistoryLimits {
  changes: number;
  bytes: number;
}

/** What a change costs in memory beside its values. */
const CHANGE_OVERHEAD = 200;

export class History {
  readonly #limits: HistoryLimits;
  /** All changes, for the order in which they are let go. */
  readonly #changes = new ChangeQueue();
  /** The same by resource, so that a reader pays for the changes of its resource only. */
  readonly #byResource = new Map<string, ChangeQueue>();
  #bytes = 0;
  #compactedRevision: number;

  constructor(limits: HistoryLimits, compactedRevision: number) {
    this.#limits = limits;
    this.#compactedRevision = compactedRevision;
  }

  /** The oldest revision whose state can still be told: every change behind it is kept. */
  get compactedRevision(): number {
    return this.#compactedRevision;
  }

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

  /** The kept changes of a resource behind `revision`, oldest first. */
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

/** A put's new value is the live one, or the `previous` of a later change: it is not counted twice. */
function bytesHeldBy({ type, entry, previous }: Change): number {
  return CHANGE_OVERHEAD + (previous?.value.length ?? 0) + (type === 'delete' ? entry.value.length : 0);
}

/** First in, first out, with binary search by revision. */
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
    // Moving the rest only when half is gone keeps the cost of a shift constant on average.
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
