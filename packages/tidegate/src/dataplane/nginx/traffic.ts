import {
  DURATION,
  DURATION_BUCKETS_SECONDS,
  REQUESTS,
  type RouterLabels,
  type TrafficMetric,
  UPSTREAM_ERRORS,
} from '../traffic-metrics.ts';

/** Only nginx has it: the embedded data plane keeps its table in the memory of the process. */
const MEMORY_FREE: TrafficMetric = {
  name: 'tidegate_router_nginx_memory_free_bytes',
  type: 'gauge',
  help: 'Free space in a shared dictionary, in bytes. If it is full, the namespaces that use the most lose entries.',
  labels: ['class', 'dictionary'],
};

interface Series extends RouterLabels {
  host: string;
  service: string;
  codes: Map<string, number>;
  buckets: Map<string, number>;
  errors: Map<string, number>;
  seconds: number;
}

/**
 * Formats the counts of all workers for Prometheus. `counts` is the output of `metrics.lua`: a line per count, with kind,
 * number, class and router of the section, host, Service, label value and count, separated by tabs. Without sections, the
 * first three are empty and `own` is the router.
 */
export function trafficMetrics(counts: string, own: RouterLabels): string {
  const { all, free } = read(counts, own);
  const of = ({ className, router, host, service }: Series, more: Record<string, string> = {}): string =>
    labels({ class: className, router, host, service, ...more });
  return [
    ...head(REQUESTS),
    ...all.flatMap((series) =>
      [...series.codes].map(([code, count]) => `${REQUESTS.name}${of(series, { code })} ${count}`),
    ),
    ...head(DURATION),
    ...all.flatMap((series) => histogram(series, (more) => of(series, more))),
    ...head(UPSTREAM_ERRORS),
    ...all.flatMap((series) =>
      [...series.errors].map(([kind, count]) => `${UPSTREAM_ERRORS.name}${of(series, { kind })} ${count}`),
    ),
    ...head(MEMORY_FREE),
    ...free.map(
      ([dictionary, bytes]) => `${MEMORY_FREE.name}${labels({ class: own.className, dictionary })} ${bytes}`,
    ),
    '',
  ].join('\n');
}

const head = ({ name, type, help }: TrafficMetric): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

function read(
  counts: string,
  own: RouterLabels,
): { all: Series[]; free: [dictionary: string, bytes: string][] } {
  const found = new Map<string, Series>();
  const free: [string, string][] = [];
  for (const line of counts.split('\n')) {
    const [what, section, className, router, host, service, which, number] = line.split('\t');
    if (number === undefined) continue;
    if (what === 'free') {
      free.push([which!, number]);
      continue;
    }
    const key = `${section}\t${className}\t${router}\t${host}\t${service}`;
    const routerLabels = section === '' ? own : { className: className!, router: router! };
    const series = found.get(key) ?? empty(routerLabels, host!, service!);
    found.set(key, series);
    if (what === 'code') series.codes.set(which!, Number(number));
    else if (what === 'bucket') series.buckets.set(which!, Number(number));
    else if (what === 'error') series.errors.set(which!, Number(number));
    else if (what === 'seconds') series.seconds = Number(number);
  }
  return { all: [...found.values()], free };
}

const empty = ({ className, router }: RouterLabels, host: string, service: string): Series => ({
  className,
  router,
  host,
  service,
  codes: new Map(),
  buckets: new Map(),
  errors: new Map(),
  seconds: 0,
});

function histogram(series: Series, of: (more?: Record<string, string>) => string): string[] {
  let count = 0;
  const lines = [...DURATION_BUCKETS_SECONDS.map(String), '+Inf'].map((le, index) => {
    count += series.buckets.get(String(index + 1)) ?? 0;
    return `${DURATION.name}_bucket${of({ le })} ${count}`;
  });
  if (count === 0) return [];
  return [
    ...lines,
    `${DURATION.name}_sum${of()} ${series.seconds}`,
    `${DURATION.name}_count${of()} ${count}`,
  ];
}

const labels = (values: Record<string, string>): string =>
  `{${Object.entries(values)
    .map(
      ([name, value]) =>
        `${name}="${value.replace(/[\\"\n]/g, (each) => (each === '\n' ? '\\n' : `\\${each}`))}"`,
    )
    .join(',')}}`;
