import type { Clock } from '../base/clock.ts';
import { TokenBucket } from '../queue/token-bucket.ts';

/** What makes two events similar or equal. */
export interface EventFacts {
  /** Identifies the object of the event. */
  subject: string;
  type: string;
  reason: string;
  message: string;
}

/** Create a new Event, or increase the count of the one that was created under the same key. */
export interface Correlated {
  key: string;
  message: string;
  count: number;
}

/** More than ten events within ten minutes that differ only in their message are combined into one. */
const SIMILAR_MOST = 10;
const SIMILAR_WITHIN_MS = 600_000;
/** For each object: 25 events at once, then one every five minutes. */
const SPAM_LIMIT = { burst: 25, perSecond: 1 / 300 };
const MOST_REMEMBERED = 4096;

/**
 * Prevents an object that fails repeatedly from flooding the cluster with events. Rules and limits are those of
 * client-go.
 */
export class Correlator {
  readonly #clock: Clock;
  readonly #buckets = new Recent<TokenBucket>();
  readonly #similar = new Recent<{ messages: Set<string>; lastAt: number }>();
  readonly #counts = new Recent<number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: drop the event. */
  correlate(facts: EventFacts): Correlated | undefined {
    const bucket = this.#buckets.getOrAdd(
      `${facts.subject}\n${facts.type}`,
      () => new TokenBucket(this.#clock, SPAM_LIMIT),
    );
    if (!bucket.tryTake()) return undefined;
    const group = [facts.subject, facts.type, facts.reason].join('\n');
    const combined = this.#isOneOfTooMany(group, facts.message);
    const key = combined ? group : `${group}\n${facts.message}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const message = combined ? `(combined from similar events): ${facts.message}` : facts.message;
    return { key, message, count };
  }

  /** The Event under this key no longer exists; the next one starts from 1. */
  forget(key: string): void {
    this.#counts.delete(key);
  }

  #isOneOfTooMany(group: string, message: string): boolean {
    const now = this.#clock.monotonic();
    const known = this.#similar.get(group);
    const current =
      known !== undefined && now - known.lastAt < SIMILAR_WITHIN_MS
        ? known
        : { messages: new Set<string>(), lastAt: now };
    current.lastAt = now;
    if (current.messages.size <= SIMILAR_MOST) current.messages.add(message);
    this.#similar.set(group, current);
    return current.messages.size > SIMILAR_MOST;
  }
}

/** A map that evicts the least recently used entry. */
export class Recent<V> {
  readonly #entries = new Map<string, V>();

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  getOrAdd(key: string, create: () => V): V {
    const value = this.#entries.get(key) ?? create();
    this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= MOST_REMEMBERED) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest!);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
