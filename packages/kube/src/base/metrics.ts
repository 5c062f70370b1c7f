import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** A value for each label of the metric. */
type LabelValues = Record<string, string>;

/** A value that only grows. `by` is 1 by default. */
export interface CounterMetric {
  inc(labels: LabelValues, by?: number): void;
}
/** A value that goes up and down. */
export interface GaugeMetric {
  set(labels: LabelValues, value: number): void;
}
/** Counts observations in buckets, for example durations in seconds. */
export interface HistogramMetric {
  observe(labels: LabelValues, value: number): void;
}

/** A metric with its series. The library has no other list of them that is complete at once. */
interface Stored {
  hashMap: Record<string, { labels: LabelValues }>;
  remove(labels: LabelValues): void;
}

export interface MetricsOptions {
  /** Put before the name of every metric that does not begin with it, also before those of the kit. */
  prefix?: string;
}

interface MetricOptions {
  help: string;
  labels?: string[];
}

/**
 * A registry of Prometheus metrics, and the only module that uses the Prometheus library. Creating a metric that
 * already exists returns the existing one, so that all queues and controllers of a program share one set.
 *
 * @example
 * const metrics = new Metrics({ prefix: 'shop_' });
 * const orders = metrics.counter('orders_total', { help: 'Orders by result.', labels: ['result'] });
 * orders.inc({ result: 'accepted' });
 * response.setHeader('content-type', metrics.contentType).end(await metrics.scrape());
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #collectors = new Set<() => void>();
  readonly #prefix: string;

  constructor({ prefix = '' }: MetricsOptions = {}) {
    this.#prefix = prefix;
  }

  counter(ownName: string, { help, labels = [] }: MetricOptions): CounterMetric {
    const name = this.#fullName(ownName);
    return (
      this.#existing(name, Counter) ??
      new Counter({ name, help, labelNames: labels, registers: [this.#registry] })
    );
  }

  gauge(ownName: string, { help, labels = [] }: MetricOptions): GaugeMetric {
    const name = this.#fullName(ownName);
    return (
      this.#existing(name, Gauge) ??
      new Gauge({ name, help, labelNames: labels, registers: [this.#registry] })
    );
  }

  histogram(
    ownName: string,
    { help, labels = [], buckets }: MetricOptions & { buckets: number[] },
  ): HistogramMetric {
    const name = this.#fullName(ownName);
    return (
      this.#existing(name, Histogram) ??
      new Histogram({ name, help, labelNames: labels, buckets, registers: [this.#registry] })
    );
  }

  /**
   * Runs `collect` before every scrape, for values that must be computed on demand. Returns a function that removes
   * it.
   */
  onScrape(collect: () => void): () => void {
    this.#collectors.add(collect);
    return () => this.#collectors.delete(collect);
  }

  /** Removes all series with these values of labels, for example those of an object that was deleted. */
  forget(labels: LabelValues): void {
    const wanted = Object.entries(labels);
    for (const metric of this.#registry.getMetricsAsArray() as unknown as Stored[])
      for (const { labels: own } of Object.values(metric.hashMap))
        if (wanted.every(([name, value]) => own[name] === value)) metric.remove(own);
  }

  /** The Content-Type header for the result of `scrape`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text that Prometheus scrapes. */
  async scrape(): Promise<string> {
    for (const collect of this.#collectors) collect();
    return this.#registry.metrics();
  }

  #fullName(name: string): string {
    return name.startsWith(this.#prefix) ? name : `${this.#prefix}${name}`;
  }

  #existing<M>(name: string, type: abstract new (...args: never[]) => M): M | undefined {
    const metric = this.#registry.getSingleMetric(name);
    if (metric === undefined) return undefined;
    if (metric instanceof type) return metric;
    throw new TypeError(`metric ${name} is already registered as another type`);
  }
}
