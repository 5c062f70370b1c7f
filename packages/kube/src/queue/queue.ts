import { type BackoffOptions, backoffDelay } from '../base/backoff.ts';
import { type Clock, type Random, systemClock } from '../base/clock.ts';
import { Metrics } from '../base/metrics.ts';
import { Delays } from './delays.ts';
import { QueueMetrics } from './queue-metrics.ts';
import { type RateLimit, TokenBucket } from './token-bucket.ts';

/** Options of {@link WorkQueue}. The defaults are close to those of client-go. */
export interface QueueOptions {
  /** The `name` label of the metrics. */
  name: string;
  /** Between retries of one key. Default: 10 ms, doubling up to 1000 seconds. */
  backoff?: BackoffOptions;
  /** Limits the retries of all keys together. Default: 10 per second, and 100 at once. */
  retryRate?: RateLimit;
  clock?: Clock;
  random?: Random;
  metrics?: Metrics;
}

/**
 * A queue of keys to reconcile, with the semantics of the client-go work queue:
 *
 * - A key is in the queue at most once, however often it is added: reconciling looks at the current state, so one run
 *   covers all changes before it.
 * - A key is never processed by two workers at once. If it is added while it is processed, it is processed once more
 *   afterwards, because the running worker may have read the state before the change.
 * - Then it goes to the end of the queue, so that a key that changes all the time does not starve the others.
 *
 * @example
 * const queue = new WorkQueue({ name: 'pods' });
 * queue.add('default/web');
 * const key = await queue.next();
 * if (key !== undefined) {
 *   await work(key).then(() => queue.forget(key), () => queue.addRateLimited(key));
 *   queue.done(key);
 * }
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffOptions;
  readonly #bucket: TokenBucket;
  readonly #delays: Delays;
  readonly #metrics: QueueMetrics;
  /** First in, first out: a Set preserves the order of insertion. */
  readonly #ready = new Set<string>();
  readonly #working = new Set<string>();
  /** Added while being processed. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  #shutDown = false;

  constructor(options: QueueOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#backoff = options.backoff ?? { baseMs: 10, maxMs: 1_000_000 };
    this.#bucket = new TokenBucket(this.#clock, options.retryRate ?? { perSecond: 10, burst: 100 });
    this.#metrics = new QueueMetrics(options.metrics ?? new Metrics(), options.name, this.#clock);
    this.#delays = new Delays(this.#clock, (key) => this.add(key));
  }

  /** The number of keys that are ready to be processed. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Adds a key that is ready now. It cancels a pending delay of the key, because one run covers both. */
  add(key: string): void {
    if (this.#shutDown) return;
    this.#delays.remove(key);
    if (this.#ready.has(key) || this.#again.has(key)) return;
    this.#metrics.added(key);
    if (this.#working.has(key)) this.#again.add(key);
    else this.#enqueue(key);
  }

  /** If a key is added with several delays, the earliest time counts; `add` counts as no delay. */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) this.add(key);
    else if (!this.#shutDown && !this.#ready.has(key) && !this.#again.has(key))
      this.#delays.add(key, delayMs);
  }

  /** Adds a key after a failure, with a delay that grows each time, until `forget` is called. */
  addRateLimited(key: string): void {
    if (this.#shutDown) return;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#metrics.retried();
    const delayMs = backoffDelay(failures, this.#backoff, this.#random);
    this.addAfter(key, Math.max(delayMs, this.#bucket.reserve()));
  }

  /** Resets the backoff: the next failure of the key counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Consecutive failures of the key since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key. Call `done` when it has been processed. Undefined when the queue is shut down. */
  next(): Promise<string | undefined> {
    if (this.#shutDown) return Promise.resolve(undefined);
    const [key] = this.#ready;
    if (key === undefined) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#ready.delete(key);
    return Promise.resolve(this.#handOut(key));
  }

  /** Must be called for every key that `next` returned. If the key was added meanwhile, it is queued again now. */
  done(key: string): void {
    if (!this.#working.delete(key)) return;
    this.#metrics.done(key);
    if (this.#again.delete(key) && !this.#shutDown) this.#enqueue(key);
  }

  /** Stops the queue. Keys that are being processed can still be marked `done`. */
  shutDown(): void {
    this.#shutDown = true;
    this.#delays.stop();
    this.#ready.clear();
    this.#again.clear();
    this.#metrics.depth(0);
    this.#metrics.stop();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #enqueue(key: string): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting(this.#handOut(key));
      return;
    }
    this.#ready.add(key);
    this.#metrics.depth(this.#ready.size);
  }

  #handOut(key: string): string {
    this.#working.add(key);
    this.#metrics.started(key);
    this.#metrics.depth(this.#ready.size);
    return key;
  }
}
