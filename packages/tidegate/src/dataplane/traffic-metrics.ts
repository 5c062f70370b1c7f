/** The metrics about requests, which both data planes export with the same names, labels, help and buckets. */

export interface TrafficMetric {
  readonly name: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  readonly help: string;
  readonly labels: readonly string[];
}

/** Which router a request belongs to. Several routers can share a data plane. */
export interface RouterLabels {
  readonly className: string;
  /** The name of its L7Router; empty without one. */
  readonly router: string;
}

const SERIES_LABELS = ['class', 'router', 'host', 'service'] as const;

export const REQUESTS = {
  name: 'tidegate_router_requests_total',
  type: 'counter',
  help: 'Requests, by status code of the response. 499: the client closed the connection first.',
  labels: [...SERIES_LABELS, 'code'],
} as const satisfies TrafficMetric;

export const DURATION = {
  name: 'tidegate_router_request_duration_seconds',
  type: 'histogram',
  help: 'Time from the first byte of a request to the last byte of its response, in seconds.',
  labels: [...SERIES_LABELS],
} as const satisfies TrafficMetric;

export const UPSTREAM_ERRORS = {
  name: 'tidegate_router_upstream_errors_total',
  type: 'counter',
  help: 'Attempts to reach an endpoint that failed, by kind: connect, timeout or broken connection.',
  labels: [...SERIES_LABELS, 'kind'],
} as const satisfies TrafficMetric;

/** All metrics that every data plane exports. */
export const TRAFFIC_METRICS: readonly TrafficMetric[] = [REQUESTS, DURATION, UPSTREAM_ERRORS];

/** Upper bounds of the buckets of `DURATION`, in milliseconds: nginx's clock is no more precise than that. */
export const DURATION_BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;
export const DURATION_BUCKETS_SECONDS = DURATION_BUCKETS_MS.map((ms) => ms / 1000);

/**
 * The number of pairs of host and Service that have series of their own. Tenants choose both names, so without a limit
 * they could exhaust the memory of the router and of Prometheus. Further pairs are counted together as `OTHER`, for each router.
 */
export const MAX_SERIES = 2_000;
export const OTHER = 'other';
