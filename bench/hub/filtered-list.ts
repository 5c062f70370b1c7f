import { ENDPOINT_SLICES, SERVICES } from '@tidegate/kube';
import { type Figure, hammer, quantile } from '../report.ts';
import type { Cluster } from './cluster.ts';
import { endpointSlice, service } from './objects.ts';
import { eachWay, type PerWay, type Way } from './ways.ts';

const SLICES = 1_000;
const ENDPOINTS_EACH = 100;
const LABEL = 'large';
const PATH = '/apis/discovery.k8s.io/v1/endpointslices';
const ROUNDS = 5;

/** Creates the EndpointSlices for `benchFilteredList`. */
export async function createLargeSlices({ admin }: Cluster): Promise<void> {
  await admin.create(SERVICES, service(LABEL));
  await hammer(SLICES, 8, async (i) => {
    await admin.create(ENDPOINT_SLICES, endpointSlice(`${LABEL}-${i}`, LABEL, ENDPOINTS_EACH));
  });
}

/** Lists all slices. kube-proxy sees only the endpoints in its pool, which are half of them. */
export async function benchFilteredList(ways: PerWay<Way>): Promise<Figure[]> {
  let selections = 0;
  // A new selection each time, so that the hub cannot reuse objects that it filtered before.
  const newSelection = (): string => `${PATH}?labelSelector=app%21%3D${selections++}`;
  const first = await eachWay((name) => rate(ways[name], newSelection));
  const again = await eachWay((name) => rate(ways[name], () => PATH));
  const title = `list of ${SLICES} slices x ${ENDPOINTS_EACH} endpoints`;
  return [
    row(`${title}, to be filtered (${megabytes(first.hub.bytes)})`, first),
    row(`${title}, filtered before`, again),
  ];
}

interface Rate {
  bytes: number;
  perSecond: number;
}

async function rate(way: Way, path: () => string): Promise<Rate> {
  let bytes = (await way.read(path())).length;
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const started = performance.now();
    bytes = (await way.read(path())).length;
    times.push(performance.now() - started);
  }
  return { bytes, perSecond: bytes / (quantile(times, 0.5) / 1000) };
}

function row(what: string, { direct, nginx, hub }: PerWay<Rate>): Figure {
  const text = ({ perSecond }: Rate): string => `${megabytes(perSecond)}/s`;
  return {
    what,
    value: text(hub),
    reference: `all of it (${megabytes(direct.bytes)}): nginx ${text(nginx)}, direct ${text(direct)}`,
    ratio: (hub.perSecond / nginx.perSecond).toFixed(2),
  };
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;
