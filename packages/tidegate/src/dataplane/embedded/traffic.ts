import { Metrics } from '@tidegate/kube';
import {
  DURATION,
  DURATION_BUCKETS_SECONDS,
  MAX_SERIES,
  OTHER,
  REQUESTS,
  type RouterLabels,
  type TrafficMetric,
  UPSTREAM_ERRORS,
} from '../traffic-metrics.ts';
import { type AccessLog, entryOf } from './access-log.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamFailure } from './failure.ts';

type Labels = { class: string; router: string; host: string; service: string };

const optionsOf = ({ help, labels }: TrafficMetric): { help: string; labels: string[] } => ({
  help,
  labels: [...labels],
});

/** The metrics of all routers in this process. */
export class TrafficMetrics {
  readonly #metrics = new Metrics();
  /** How many series all routers have. */
  series = 0;
  readonly requests = this.#metrics.counter(REQUESTS.name, optionsOf(REQUESTS));
  readonly seconds = this.#metrics.histogram(DURATION.name, {
    ...optionsOf(DURATION),
    buckets: DURATION_BUCKETS_SECONDS,
  });
  readonly failures = this.#metrics.counter(UPSTREAM_ERRORS.name, optionsOf(UPSTREAM_ERRORS));

  scrape(): Promise<string> {
    return this.#metrics.scrape();
  }

  /** Removes the series of a router. */
  forget({ className, router }: RouterLabels): void {
    this.#metrics.forget({ class: className, router });
  }
}

/** Counts the requests of a router, and writes them to the access log. */
export class Traffic {
  readonly #metrics: TrafficMetrics;
  readonly #router: RouterLabels;
  readonly #series = new Map<string, Labels>();
  readonly #log: AccessLog | undefined;
  #isForgotten = false;

  constructor(router: RouterLabels, log: AccessLog | undefined, metrics = new TrafficMetrics()) {
    this.#router = router;
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Call it when the response is complete or aborted. */
  ended(exchange: Exchange): void {
    const seconds = (performance.now() - exchange.began) / 1000;
    if (!this.#isForgotten) {
      const labels = this.#labels(exchange);
      this.#metrics.requests.inc({ ...labels, code: String(exchange.status) });
      this.#metrics.seconds.observe(labels, seconds);
    }
    if (exchange.matched?.action.policy?.unlogged) return;
    this.#log?.write(entryOf(exchange, { ...this.#router, seconds }));
  }

  /** Counts an attempt that failed. The request may still succeed at another endpoint. */
  failed(exchange: Exchange, kind: UpstreamFailure['kind']): void {
    if (!this.#isForgotten) this.#metrics.failures.inc({ ...this.#labels(exchange), kind });
  }

  scrape(): Promise<string> {
    return this.#metrics.scrape();
  }

  /** The router has left the process: removes its series. Requests that end later are not counted. */
  forget(): void {
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    this.#metrics.series -= this.#series.size;
    this.#metrics.forget(this.#router);
  }

  /** Labels of the series, or of the common series of the router beyond MAX_SERIES. */
  #labels({ matched, upstream }: Exchange): Labels {
    const host = matched?.host.host ?? '';
    const service = upstream === undefined ? '' : `${upstream.namespace}/${upstream.service}`;
    const key = `${host} ${service}`;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const own = { class: this.#router.className, router: this.#router.router };
    if (this.#metrics.series >= MAX_SERIES) return { ...own, host: OTHER, service: OTHER };
    const labels = { ...own, host, service };
    this.#metrics.series++;
    this.#series.set(key, labels);
    return labels;
  }
}
