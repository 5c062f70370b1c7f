/** What workers have counted, in the text format of Prometheus. The same metrics as of every data plane. */

/** As in `metrics.lua`; what takes longer is in one more. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const REQUESTS = 'tidegate_router_requests_total';
const DURATION = 'tidegate_router_request_duration_seconds';
const ERRORS = 'tidegate_router_upstream_errors_total';
const FREE = 'tidegate_router_nginx_memory_free_bytes';

interface Series {
  host: string;
  service: string;
  codes: Map<string, number>;
  buckets: Map<string, number>;
  errors: Map<string, number>;
  seconds: number;
}

/** `counts`: what, host, Service, which, number; separated by tabs. */
export function trafficMetrics(counts: string, className: string): string {
  const { all, free } = read(counts);
  const of = ({ host, service }: Series, more: Record<string, string> = {}): string =>
    labels({ class: className, host, service, ...more });
  return [
    `# HELP ${REQUESTS} Requests by what the client was told.`,
    `# TYPE ${REQUESTS} counter`,
    ...all.flatMap((series) =>
      [...series.codes].map(([code, count]) => `${REQUESTS}${of(series, { code })} ${count}`),
    ),
    `# HELP ${DURATION} From the head of a request to the end of its answer.`,
    `# TYPE ${DURATION} histogram`,
    ...all.flatMap((series) => histogram(series, (more) => of(series, more))),
    `# HELP ${ERRORS} Endpoints that gave no answer.`,
    `# TYPE ${ERRORS} counter`,
    ...all.flatMap((series) =>
      [...series.errors].map(([kind, count]) => `${ERRORS}${of(series, { kind })} ${count}`),
    ),
    `# HELP ${FREE} What is left for what is kept in shared memory. Without room, changes are refused.`,
    `# TYPE ${FREE} gauge`,
    ...free.map(([dictionary, bytes]) => `${FREE}${labels({ class: className, dictionary })} ${bytes}`),
    '',
  ].join('\n');
}

function read(counts: string): { all: Series[]; free: [dictionary: string, bytes: string][] } {
  const found = new Map<string, Series>();
  const free: [string, string][] = [];
  for (const line of counts.split('\n')) {
    const [what, host, service, which, number] = line.split('\t');
    if (number === undefined) continue;
    if (what === 'free') {
      free.push([which!, number]);
      continue;
    }
    const key = `${host}\t${service}`;
    const series = found.get(key) ?? empty(host!, service!);
    found.set(key, series);
    if (what === 'code') series.codes.set(which!, Number(number));
    else if (what === 'bucket') series.buckets.set(which!, Number(number));
    else if (what === 'error') series.errors.set(which!, Number(number));
    else if (what === 'seconds') series.seconds = Number(number);
  }
  return { all: [...found.values()], free };
}

const empty = (host: string, service: string): Series => ({
  host,
  service,
  codes: new Map(),
  buckets: new Map(),
  errors: new Map(),
  seconds: 0,
});

function histogram(series: Series, of: (more?: Record<string, string>) => string): string[] {
  let count = 0;
  const lines = [...SECONDS.map(String), '+Inf'].map((le, index) => {
    count += series.buckets.get(String(index + 1)) ?? 0;
    return `${DURATION}_bucket${of({ le })} ${count}`;
  });
  if (count === 0) return [];
  return [...lines, `${DURATION}_sum${of()} ${series.seconds}`, `${DURATION}_count${of()} ${count}`];
}

const labels = (values: Record<string, string>): string =>
  `{${Object.entries(values)
    .map(
      ([name, value]) =>
        `${name}="${value.replace(/[\\"\n]/g, (each) => (each === '\n' ? '\\n' : `\\${each}`))}"`,
    )
    .join(',')}}`;
