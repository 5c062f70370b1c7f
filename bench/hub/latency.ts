import { CONFIG_MAPS, ENDPOINT_SLICES, type KubeClient } from '@tidegate/kube';
import { type Figure, millis, quantile } from '../report.ts';
import type { Cluster } from './cluster.ts';
import { NAMESPACE } from './objects.ts';
import { eachWay, type PerWay, type Way } from './ways.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
/** Direct, nginx and hub are measured alternately, so that other load on the machine affects all of them. */
const TURNS = 5;
const GETS = 200;
const LISTS = 10;
const EVENTS = 40;

/** Measures sequential requests of one client, and the time from a write until its watch event arrives. */
export async function benchLatency(cluster: Cluster, ways: PerWay<Way>): Promise<Figure[]> {
  await createConfigMap(cluster.admin);
  const reading = (path: string, count: number) => () =>
    inTurns(ways, (way) => timed(count, () => way.read(path)));
  const measures: [string, () => Promise<PerWay<number[]>>][] = [
    ['get of a Service (shared, from the view)', reading(`${CORE}/services/service-1`, GETS)],
    ['get of a ConfigMap (forwarded)', reading(`${CORE}/configmaps/one`, GETS)],
    ['list of 1000 Services', reading('/api/v1/services', LISTS)],
    ['watch event of an EndpointSlice, filtered', () => inTurns(ways, (way) => events(cluster.admin, way))],
  ];
  const figures: Figure[] = [];
  for (const [what, measure] of measures) figures.push(...rows(what, await measure()));
  return figures;
}

/** The first measurement of each is a warm-up and is discarded. */
async function inTurns(
  ways: PerWay<Way>,
  measure: (way: Way) => Promise<number[]>,
): Promise<PerWay<number[]>> {
  await eachWay((name) => measure(ways[name]));
  const samples: PerWay<number[]> = { direct: [], nginx: [], hub: [] };
  for (let turn = 0; turn < TURNS; turn++)
    await eachWay(async (name) => samples[name].push(...(await measure(ways[name]))));
  return samples;
}

async function timed(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await work();
    samples.push(performance.now() - started);
  }
  return samples;
}

/** Writes go directly to the API server, whatever way the watch takes. */
async function events(admin: KubeClient, way: Way): Promise<number[]> {
  let arrived: () => void = () => undefined;
  const close = await way.watch(SLICES, await way.version(SLICES), () => arrived());
  const samples = await timed(EVENTS, async () => {
    const event = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await Promise.all([event, touchSlice(admin)]);
  });
  close();
  return samples;
}

let touches = 0;

export async function touchSlice(admin: KubeClient): Promise<void> {
  const target = { namespace: NAMESPACE, name: 'service-1-x' };
  const patch = { metadata: { annotations: { touched: String(++touches) } } };
  await admin.patch(ENDPOINT_SLICES, target, 'merge', patch);
}

async function createConfigMap(admin: KubeClient): Promise<void> {
  const metadata = { name: 'one', namespace: NAMESPACE };
  await admin.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { a: 'x'.repeat(800) },
  });
}

function rows(what: string, { direct, nginx, hub }: PerWay<number[]>): Figure[] {
  return [0.5, 0.99].map((share) => {
    const [alone, ours, theirs] = [direct, hub, nginx].map((samples) => quantile(samples, share)) as [
      number,
      number,
      number,
    ];
    return {
      what: `${what}, p${share * 100}`,
      value: `${millis(ours)} (${added(ours - alone)})`,
      reference: `nginx ${millis(theirs)} (${added(theirs - alone)}), direct ${millis(alone)}`,
      ratio: (ours / theirs).toFixed(2),
    };
  });
}

const added = (ms: number): string => `${ms < 0 ? '-' : '+'}${millis(Math.abs(ms))}`;
