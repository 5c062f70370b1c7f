/**
 * The most recent changes. Watches resume from them, and lists at an older revision are computed by undoing them, which
 * is what etcd offers through its revisions. Like etcd's compaction, the limits bound how far back clients can go; here
 * they are a number of changes, the bytes that only the history keeps alive, and their age.
 */
import type { Change } from './types.ts';

export interface HistoryLimits {
  changes: number;
  bytes: number;
  /** Older changes are dropped. Without it, age does not matter. */
  age?: { ms: number; now(): number };
}

/** Ages are exact to this many milliseconds, so that not every change needs a time of its own. */
const AGE_STEP_MS = 1000;

/** Approximate memory of a change, without its values. */
const CHANGE_OVERHEAD = 200;

/** The changes of the last revisions, in memory only. After a restart it starts at the snapshot that was loaded. */
export class History {
  readonly #limits: HistoryLimits;
  /** All changes in order, to drop the oldest first. */
  readonly #changes = new ChangeQueue();
  /** The same changes by resource, so that a reader pays only for the changes of its resource. */
  readonly #byResource = new Map<string, ChangeQueue>();
  /** The newest revision at certain times, oldest first. */
  readonly #ages: { time: number; revision: number }[] = [];
  #bytes = 0;
  #compactedRevision: number;

  constructor(limits: HistoryLimits, compactedRevision: number) {
    this.#limits = limits;
    this.#compactedRevision = compactedRevision;
  }

  /** The oldest revision whose state can be reconstructed: every later change is kept. */
  get compactedRevision(): number {
    this.#expire();
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
    this.#noteAge(change.entry.revision);
    this.#expire();
    while (this.#changes.length > this.#limits.changes || this.#bytes > this.#limits.bytes)
      this.#dropOldest();
  }

  /** The kept changes of a resource after `revision`, oldest first. */
  after(resource: string, revision: number): Change[] {
    return this.#byResource.get(resource)?.after(revision) ?? [];
  }

  #noteAge(revision: number): void {
    if (this.#limits.age === undefined) return;
    const time = this.#limits.age.now();
    const last = this.#ages.at(-1);
    if (last !== undefined && time - last.time < AGE_STEP_MS) last.revision = revision;
    else this.#ages.push({ time, revision });
  }

  #expire(): void {
    const { age } = this.#limits;
    if (age === undefined) return;
    const limit = age.now() - age.ms;
    while ((this.#ages[0]?.time ?? limit) < limit) {
      const { revision } = this.#ages.shift()!;
      while ((this.#changes.first?.entry.revision ?? revision + 1) <= revision) this.#dropOldest();
    }
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

  get first(): Change | undefined {
    return this.#items[this.#head];
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
