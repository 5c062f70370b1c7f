import { Metrics } from '@tidegate/kube';
import { type AccessLog, entryOf } from './access-log.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamFailure } from './failure.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Pairs of host and Service. Those that come later are counted together. */
const MOST_SERIES = 2000;

type Labels = { class: string; host: string; service: string };

/** What became of requests: counted, and told to the access log. */
export class Traffic {
  readonly #metrics = new Metrics();
  readonly #className: string;
  readonly #series = new Map<string, Labels>();
  readonly #log: AccessLog | undefined;
  readonly #requests = this.#metrics.counter('tidegate_router_requests_total', {
    help: 'Requests by what the client was told.',
    labels: ['class', 'host', 'service', 'code'],
  });
  readonly #seconds = this.#metrics.histogram('tidegate_router_request_duration_seconds', {
    help: 'From the head of a request to the end of its answer.',
    labels: ['class', 'host', 'service'],
    buckets: SECONDS,
  });
  readonly #failures = this.#metrics.counter('tidegate_router_upstream_errors_total', {
    help: 'Endpoints that gave no answer.',
    labels: ['class', 'host', 'service', 'kind'],
  });

  constructor(className: string, log: AccessLog | undefined) {
    this.#className = className;
    this.#log = log;
  }

  ended(exchange: Exchange): void {
    const labels = this.#labels(exchange);
    const seconds = (performance.now() - exchange.began) / 1000;
    this.#requests.inc({ ...labels, code: String(exchange.status) });
    this.#seconds.observe(labels, seconds);
    this.#log?.write(entryOf(exchange, { className: this.#className, seconds }));
  }

  failed(exchange: Exchange, kind: UpstreamFailure['kind']): void {
    this.#failures.inc({ ...this.#labels(exchange), kind });
  }

  scrape(): Promise<string> {
    return this.#metrics.scrape();
  }

  #labels({ matched, upstream }: Exchange): Labels {
    const host = matched?.host.host ?? '';
    const service = upstream === undefined ? '' : `${upstream.namespace}/${upstream.service}`;
    const key = `${host} ${service}`;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= MOST_SERIES) return { class: this.#className, host: 'other', service: 'other' };
    const labels = { class: this.#className, host, service };
    this.#series.set(key, labels);
    return labels;
  }
}
