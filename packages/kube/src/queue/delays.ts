import type { Clock } from '../base/clock.ts';

interface Entry {
  readonly key: string;
  readonly at: number;
  /** Preserves the order of insertion for entries that are due at the same time. */
  readonly order: number;
}

/** Keys that become due later. All share one timer. Each key has one due time, the earliest that was requested. */
export class Delays {
  readonly #clock: Clock;
  readonly #onDue: (key: string) => void;
  readonly #entries = new Map<string, Entry>();
  /**
   * A binary heap ordered by due time. Removing from its middle would be expensive, so entries that are no longer in
   * the map stay in it, and are skipped when they reach the top.
   */
  readonly #heap: Entry[] = [];
  #order = 0;
  #timer: { at: number; cancel: () => void } | undefined;

  constructor(clock: Clock, onDue: (key: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** A later time for the same key is ignored. */
  add(key: string, delayMs: number): void {
    const at = this.#clock.monotonic() + delayMs;
    const existing = this.#entries.get(key);
    if (existing !== undefined && existing.at <= at) return;
    const entry = { key, at, order: this.#order++ };
    this.#entries.set(key, entry);
    this.#push(entry);
    this.#arm();
  }

  remove(key: string): void {
    this.#entries.delete(key);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#entries.clear();
    this.#heap.length = 0;
  }

  /** Sets the timer for the earliest entry, unless it is already set for that time or an earlier one. */
  #arm(): void {
    this.#dropStale();
    const next = this.#heap[0];
    if (next === undefined || (this.#timer !== undefined && this.#timer.at <= next.at)) return;
    this.#timer?.cancel();
    const delayMs = Math.max(0, next.at - this.#clock.monotonic());
    this.#timer = { at: next.at, cancel: this.#clock.after(delayMs, () => this.#fire()) };
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (this.#dropStale(); this.#heap[0] !== undefined && this.#heap[0].at <= now; this.#dropStale()) {
      const { key } = this.#pop();
      this.#entries.delete(key);
      this.#onDue(key);
    }
    this.#arm();
  }

  #dropStale(): void {
    while (this.#heap[0] !== undefined && this.#entries.get(this.#heap[0].key) !== this.#heap[0]) this.#pop();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (isBefore(heap[parent]!, entry)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = entry;
  }

  #pop(): Entry {
    const heap = this.#heap;
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(last, heap[child]!)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
