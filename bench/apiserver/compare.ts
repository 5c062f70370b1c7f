/**
 * Measures the embedded API server beside kube-apiserver and etcd, in one run and in turns: every round measures both, and
 * the order changes from round to round, so that other load on the machine affects both. The figures are medians of the
 * rounds.
 */
import { type Agent, request } from 'undici';
import { type Figure, hammer, millis, quantile } from '../report.ts';
import { configMap, pod } from './objects.ts';
import { type RawClients, rawRequest } from './raw-client.ts';
import { type Credentials, cpuMs, residentMiB } from './servers.ts';
import { EVENTS, openWatchers } from './watchers.ts';

/** One of the two servers. */
export interface Side {
  url: string;
  /** All processes of the server: a kube-apiserver needs its etcd. */
  pids: number[];
  /** For lists and single requests. */
  agent: Agent;
  /** For many requests. */
  clients: RawClients;
  credentials: Credentials;
}

export const CLIENTS = 64;

const CREATES = { one: 200, many: 1000 };
const GETS = 2000;
const PODS = 3500;
const SELECTED = 350;
const WATCHERS = 150;
/** Lists of one round. */
const LISTS = 10;

/** Milliseconds for each operation of one round: as the client sees it, and of processor time of the server. */
interface Sample {
  ms: number;
  cpu: number;
}

interface Measurement {
  what: string;
  show(ms: number): string;
  run(side: Side, round: number): Promise<Sample>;
}

const rate = (ms: number): string => `${Math.round(1000 / ms)}/s`;

const MEASUREMENTS: Measurement[] = [
  {
    what: 'durable creates, 1 client',
    show: rate,
    run: (side, round) => creates(side, `one-${round}`, CREATES.one, 1),
  },
  {
    what: 'durable creates, 64 clients',
    show: rate,
    run: (side, round) => creates(side, `many-${round}`, CREATES.many, CLIENTS),
  },
  { what: 'gets, 64 clients', show: rate, run: (side) => gets(side) },
  { what: `creates of ${PODS} pods, 64 clients`, show: rate, run: pods },
  {
    what: `list of ${PODS} pods`,
    show: millis,
    run: (side, round) => lists(side, podsOf(side, round), LISTS),
  },
  {
    what: `first list of ${SELECTED} of them with a label selector`,
    show: millis,
    run: (side, round) => lists(side, `${podsOf(side, round)}?labelSelector=group%3Da`, 1),
  },
  {
    what: 'the same list repeated',
    show: millis,
    run: (side, round) => lists(side, `${podsOf(side, round)}?labelSelector=group%3Da`, LISTS),
  },
  { what: `event to ${WATCHERS} watchers, p50`, show: millis, run: fanOut },
];

/** Runs every measurement on both sides, the embedded server first in even rounds. */
export async function compare(embedded: Side, real: Side, rounds: number): Promise<Figure[]> {
  const samples = new Map(
    MEASUREMENTS.map(({ what }) => [
      what,
      new Map<Side, Sample[]>([
        [embedded, []],
        [real, []],
      ]),
    ]),
  );
  for (const side of [embedded, real]) {
    await namespace(side, 'warm');
    await creates(side, 'warm', 500, CLIENTS);
  }
  for (let round = 0; round < rounds; round++) {
    for (const side of [embedded, real]) await namespace(side, `round-${round}`);
    for (const { what, run } of MEASUREMENTS) {
      for (const side of round % 2 === 0 ? [embedded, real] : [real, embedded]) {
        samples
          .get(what)
          ?.get(side)
          ?.push(await run(side, round));
      }
    }
  }
  return [
    ...MEASUREMENTS.flatMap((measurement) => {
      const of = (side: Side): Sample[] => samples.get(measurement.what)?.get(side) ?? [];
      return figures(measurement, of(embedded), of(real));
    }),
    memory(embedded, real),
  ];
}

const median = (values: number[]): number => quantile(values, 0.5);

/** A ratio above 1 means that the embedded server is faster, or needs less. */
function figures({ what, show }: Measurement, ours: Sample[], theirs: Sample[]): Figure[] {
  const [ms, realMs] = [ours, theirs].map((all) => median(all.map((sample) => sample.ms))) as [
    number,
    number,
  ];
  const [cpu, realCpu] = [ours, theirs].map((all) => median(all.map((sample) => sample.cpu))) as [
    number,
    number,
  ];
  return [
    { what, value: show(ms), reference: show(realMs), ratio: (realMs / ms).toFixed(2) },
    {
      what: '  processor time of the server',
      value: millis(cpu),
      reference: millis(realCpu),
      ratio: cpu === 0 ? '' : (realCpu / cpu).toFixed(2),
    },
  ];
}

function memory(embedded: Side, real: Side): Figure {
  const of = (side: Side): number => side.pids.reduce((sum, pid) => sum + residentMiB(pid), 0);
  const [ours, theirs] = [of(embedded), of(real)];
  return {
    what: 'memory after all of it',
    value: `${ours} MiB`,
    reference: `${theirs} MiB`,
    ratio: (theirs / ours).toFixed(2),
  };
}

/** Runs `work` and divides its time and the processor time of the server by the number of operations. */
async function measured(side: Side, count: number, work: () => Promise<number>): Promise<Sample> {
  const cpu = (): number => side.pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const before = cpu();
  const ms = await work();
  return { ms: ms / count, cpu: (cpu() - before) / count };
}

const creates = (side: Side, prefix: string, count: number, clients: number): Promise<Sample> =>
  measured(side, count, () =>
    side.clients.run(count, clients, 201, (i) =>
      rawRequest('POST', configMaps(side), configMap(`${prefix}-${i}`)),
    ),
  );

const gets = (side: Side): Promise<Sample> =>
  measured(side, GETS, () =>
    side.clients.run(GETS, CLIENTS, 200, (i) =>
      rawRequest('GET', `${configMaps(side)}/many-0-${i % CREATES.many}`),
    ),
  );

/** A service account is needed for pods, and without a controller manager nothing creates it. */
async function pods(side: Side, round: number): Promise<Sample> {
  const group = (i: number): string => (i % (PODS / SELECTED) === 0 ? 'a' : 'b');
  return measured(side, PODS, () =>
    side.clients.run(PODS, CLIENTS, 201, (i) =>
      rawRequest('POST', podsOf(side, round), pod(`pod-${i}`, { group: group(i) })),
    ),
  );
}

const lists = (side: Side, url: string, count: number): Promise<Sample> =>
  measured(side, count, () => hammer(count, 1, () => send(side, url, 'GET')));

/** The time is that of the median watcher; the processor time is that of one event for all of them. */
async function fanOut(side: Side, round: number): Promise<Sample> {
  const watchers = await openWatchers(side.url, side.credentials, WATCHERS);
  try {
    let p50 = 0;
    const { cpu } = await measured(side, EVENTS, async () => {
      ({ p50 } = await watchers.fanOut(side.agent, `fan-${round}`));
      return 0;
    });
    return { ms: p50, cpu };
  } finally {
    watchers.close();
  }
}

const configMaps = (side: Side): string => `${side.url}/api/v1/namespaces/warm/configmaps`;
const podsOf = (side: Side, round: number): string => `${side.url}/api/v1/namespaces/round-${round}/pods`;

async function namespace(side: Side, name: string): Promise<void> {
  const all = `${side.url}/api/v1/namespaces`;
  await post(side, all, JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await send(side, `${all}/${name}/serviceaccounts`, 'POST', JSON.stringify(account), [201, 409]);
}

const post = (side: Side, url: string, body: string): Promise<void> => send(side, url, 'POST', body, [201]);

async function send(
  side: Side,
  url: string,
  method: 'GET' | 'POST',
  body?: string,
  expected = [200],
): Promise<void> {
  const response = await request(url, {
    dispatcher: side.agent,
    method,
    body,
    headers: { 'content-type': 'application/json' },
  });
  if (!expected.includes(response.statusCode)) {
    throw new Error(`${method} ${url} answered ${response.statusCode}: ${await response.body.text()}`);
  }
  // `dump` closes the connection of a long body; these are read to their end.
  for await (const _ of response.body);
}
