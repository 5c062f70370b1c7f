import type { DurableMap } from '@tidegate/disk';
import type { ResourceRequest } from '@tidegate/serving';
import {
  decodeEntry,
  type Entry,
  type EntrySummary,
  encodeEntry,
  type StateEntry,
  summaryOf,
} from './entry.ts';

const STATES = 'state/';
const EVENTS = 'event/';
const SEQUENCE_DIGITS = 12;

/**
 * The entries of the journal on disk, and a summary of each in memory. There is one state entry per object.
 * Event entries have a sequence number, which is their order.
 */
export class Shelf {
  readonly #map: DurableMap;
  /**
   * In sending order. States come before events, because the control plane acts on them: until the lease and
   * the status of the node arrive, the node is NotReady.
   */
  readonly #states = new Map<string, EntrySummary>();
  readonly #events = new Map<string, EntrySummary>();
  /** The number of the newest event entry. */
  #sequence = 0;

  private constructor(map: DurableMap) {
    this.#map = map;
  }

  static async open(map: DurableMap): Promise<Shelf> {
    const shelf = new Shelf(map);
    await shelf.reload();
    return shelf;
  }

  /** Reads the summaries again. Call it when the map has undone changes. */
  async reload(): Promise<void> {
    const found: [string, EntrySummary][] = [];
    for await (const [key, bytes] of this.#map.entries()) found.push([key, summaryOf(decodeEntry(bytes))]);
    found.sort(([a], [b]) => (a < b ? -1 : 1));
    const states = found.filter(([key]) => key.startsWith(STATES));
    this.#states.clear();
    this.#events.clear();
    for (const [key, summary] of states.toSorted(([, a], [, b]) => (a.since < b.since ? -1 : 1)))
      this.#states.set(key, summary);
    for (const [key, summary] of found) {
      if (!key.startsWith(EVENTS)) continue;
      this.#events.set(key, summary);
      this.#sequence = Math.max(this.#sequence, Number(key.slice(EVENTS.length)));
    }
  }

  get eventCount(): number {
    return this.#events.size;
  }

  get size(): number {
    return this.#states.size + this.#events.size;
  }

  /** The key of the entry to send next, other than entries of these objects (as in EntrySummary). */
  first(postponed: { has(object: string): boolean }): string | undefined {
    for (const entries of [this.#states, this.#events])
      for (const [key, { object }] of entries) if (!postponed.has(object)) return key;
    return undefined;
  }

  summaries(): EntrySummary[] {
    return [...this.#states.values(), ...this.#events.values()];
  }

  /** The state entries, read from disk one at a time. */
  async *states(): AsyncGenerator<StateEntry> {
    for (const key of [...this.#states.keys()]) yield (await this.get(key)) as StateEntry;
  }

  has(key: string): boolean {
    return this.#states.has(key) || this.#events.has(key);
  }

  /** How many writes were merged into the entry; undefined if there is no such entry. */
  writesOf(key: string): number | undefined {
    return (this.#states.get(key) ?? this.#events.get(key))?.writes;
  }

  async get(key: string): Promise<Entry | undefined> {
    const bytes = await this.#map.get(key);
    return bytes === undefined ? undefined : decodeEntry(bytes);
  }

  put(key: string, entry: Entry): void {
    this.#map.put(key, encodeEntry(entry));
    (key.startsWith(STATES) ? this.#states : this.#events).set(key, summaryOf(entry));
  }

  remove(key: string): void {
    this.#map.delete(key);
    this.#states.delete(key);
    this.#events.delete(key);
  }

  /**
   * The oldest event entry of the namespace that has the most, so that a pod that causes many events does not push out those
   * of other tenants. Never `except`.
   */
  dispensableEvent(except: string | undefined): string | undefined {
    const oldest = new Map<string, { key: string; count: number }>();
    for (const [key, { object }] of this.#events) {
      if (key === except) continue;
      const namespace = object.slice(0, object.lastIndexOf('/'));
      const found = oldest.get(namespace);
      if (found === undefined) oldest.set(namespace, { key, count: 1 });
      else found.count++;
    }
    const [first] = [...oldest.values()].sort((a, b) => b.count - a.count);
    return first?.key;
  }

  newEventKey(): string {
    this.#sequence += 1;
    return EVENTS + String(this.#sequence).padStart(SEQUENCE_DIGITS, '0');
  }

  /** The key of the newest entry for an event, of either type. */
  eventKey(object: string): string | undefined {
    let found: string | undefined;
    for (const [key, summary] of this.#events) if (summary.object === object) found = key;
    return found;
  }

  /** Resolves when all changes so far are on disk. */
  durable(): Promise<void> {
    return this.#map.flush();
  }
}

/** Names contain no `/`, so two objects never share a key. */
export const stateKey = ({ group, resource, namespace, name }: ResourceRequest): string =>
  `${STATES}${group}/${resource}/${namespace}/${name}`;
