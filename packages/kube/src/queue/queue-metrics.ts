import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';

const BUCKETS = Array.from({ length: 10 }, (_, i) => 1e-8 * 10 ** i);

/** The metrics of the client-go work queue, under the same names, so that existing dashboards work. */
export class QueueMetrics {
  readonly #clock: Clock;
  readonly #labels: { name: string };
  readonly #metrics: ReturnType<typeof define>;
  readonly #addedAt = new Map<string, number>();
  readonly #startedAt = new Map<string, number>();
  readonly #stopCollecting: () => void;

  constructor(metrics: Metrics, name: string, clock: Clock) {
    this.#clock = clock;
    this.#labels = { name };
    this.#metrics = define(metrics);
    this.#stopCollecting = metrics.onScrape(() => this.#collect());
  }

  added(key: string): void {
    this.#metrics.adds.inc(this.#labels);
    if (!this.#addedAt.has(key)) this.#addedAt.set(key, this.#clock.monotonic());
  }

  retried(): void {
    this.#metrics.retries.inc(this.#labels);
  }

  started(key: string): void {
    const now = this.#clock.monotonic();
    this.#metrics.latency.observe(this.#labels, (now - (this.#addedAt.get(key) ?? now)) / 1000);
    this.#addedAt.delete(key);
    this.#startedAt.set(key, now);
  }

  done(key: string): void {
    const startedAt = this.#startedAt.get(key);
    if (startedAt === undefined) return;
    this.#metrics.duration.observe(this.#labels, (this.#clock.monotonic() - startedAt) / 1000);
    this.#startedAt.delete(key);
  }

  depth(depth: number): void {
    this.#metrics.depth.set(this.#labels, depth);
  }

  stop(): void {
    this.#stopCollecting();
  }

  #collect(): void {
    const now = this.#clock.monotonic();
    const ages = [...this.#startedAt.values()].map((startedAt) => (now - startedAt) / 1000);
    this.#metrics.unfinished.set(
      this.#labels,
      ages.reduce((sum, age) => sum + age, 0),
    );
    this.#metrics.longest.set(this.#labels, Math.max(0, ...ages));
  }
}

const define = (metrics: Metrics) => {
  const labels = ['name'];
  return {
    depth: metrics.gauge('workqueue_depth', { help: 'Keys that wait in the queue.', labels }),
    adds: metrics.counter('workqueue_adds_total', {
      help: 'Keys that were added to the queue.',
      labels,
    }),
    retries: metrics.counter('workqueue_retries_total', {
      help: 'Keys that were added again after a failure.',
      labels,
    }),
    latency: metrics.histogram('workqueue_queue_duration_seconds', {
      help: 'Time that a key waits in the queue, in seconds.',
      labels,
      buckets: BUCKETS,
    }),
    duration: metrics.histogram('workqueue_work_duration_seconds', {
      help: 'Time to process a key, in seconds.',
      labels,
      buckets: BUCKETS,
    }),
    unfinished: metrics.gauge('workqueue_unfinished_work_seconds', {
      help: 'Time spent so far on keys that are being processed, in seconds.',
      labels,
    }),
    longest: metrics.gauge('workqueue_longest_running_processor_seconds', {
      help: 'Time spent so far on the key that has been processed longest, in seconds.',
      labels,
    }),
  };
};
