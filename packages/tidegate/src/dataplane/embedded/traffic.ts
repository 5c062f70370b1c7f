import { Metrics } from '@tidegate/kube';
import {
  DURATION,
  DURATION_BUCKETS_SECONDS,
  MAX_SERIES,
  OTHER,
  REQUESTS,
  type TrafficMetric,
  UPSTREAM_ERRORS,
} from '../traffic-metrics.ts';
import { type AccessLog, entryOf } from './access-log.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamFailure } from './failure.ts';

type Labels = { class: string; host: string; service: string };

const optionsOf = ({ help, labels }: TrafficMetric): { help: string; labels: string[] } => ({
  help,
  labels: [...labels],
});

/** Counts requests, and writes them to the access log. */
export class Traffic {
  readonly #metrics = new Metrics();
  readonly #className: string;
  readonly #series = new Map<string, Labels>();
  readonly #log: AccessLog | undefined;
  readonly #requests = this.#metrics.counter(REQUESTS.name, optionsOf(REQUESTS));
  readonly #seconds = this.#metrics.histogram(DURATION.name, {
    ...optionsOf(DURATION),
    buckets: DURATION_BUCKETS_SECONDS,
  });
  readonly #failures = this.#metrics.counter(UPSTREAM_ERRORS.name, optionsOf(UPSTREAM_ERRORS));

  constructor(className: string, log: AccessLog | undefined) {
    this.#className = className;
    this.#log = log;
  }

  /** Call it when the response is complete or aborted. */
  ended(exchange: Exchange): void {
    const labels = this.#labels(exchange);
    const seconds = (performance.now() - exchange.began) / 1000;
    this.#requests.inc({ ...labels, code: String(exchange.status) });
    this.#seconds.observe(labels, seconds);
    if (exchange.matched?.action.policy?.unlogged) return;
    this.#log?.write(entryOf(exchange, { className: this.#className, seconds }));
  }

  /** Counts an attempt that failed. The request may still succeed at another endpoint. */
  failed(exchange: Exchange, kind: UpstreamFailure['kind']): void {
    this.#failures.inc({ ...this.#labels(exchange), kind });
  }

  scrape(): Promise<string> {
    return this.#metrics.scrape();
  }

  /** Labels of the series, or of the common series beyond MAX_SERIES. */
  #labels({ matched, upstream }: Exchange): Labels {
    const host = matched?.host.host ?? '';
    const service = upstream === undefined ? '' : `${upstream.namespace}/${upstream.service}`;
    const key = `${host} ${service}`;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= MAX_SERIES) return { class: this.#className, host: OTHER, service: OTHER };
    const labels = { class: this.#className, host, service };
    this.#series.set(key, labels);
    return labels;
  }
}
