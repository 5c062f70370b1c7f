import { setTimeout as sleep } from 'node:timers/promises';
import { ENDPOINT_SLICES, SERVICES } from '@tidegate/kube';
import { type Figure, hammer } from '../report.ts';
import type { Cluster } from './cluster.ts';
import { type HubProcess, startHubProcess } from './hub-process.ts';
import { endpointSlice, service } from './objects.ts';
import { Way } from './ways.ts';

export const SERVICE_COUNT = 1_000;
const ENDPOINTS_EACH = 5;
const SETTLE_MS = 5_000;

/**
 * Measures the memory of the hub without clients, and with kube-proxy watching the Services and endpoints of
 * a large cluster.
 */
export async function benchMemory(cluster: Cluster): Promise<Figure[]> {
  const idle = await weigh(cluster, 'hub-idle', async () => {});
  await hammer(SERVICE_COUNT, 32, async (i) => {
    await cluster.admin.create(SERVICES, service(`service-${i}`));
    await cluster.admin.create(
      ENDPOINT_SLICES,
      endpointSlice(`service-${i}-x`, `service-${i}`, ENDPOINTS_EACH),
    );
  });
  const first = await weigh(cluster, 'hub', asKubeProxy(cluster));
  const again = await weigh(cluster, 'hub', asKubeProxy(cluster));
  const objects = `${SERVICE_COUNT} Services, ${SERVICE_COUNT * ENDPOINTS_EACH} endpoints`;
  return [
    { what: 'memory, idle', value: text(idle), reference: 'Go peer, as published: 35-40 MiB' },
    { what: `memory, ${objects}, first start`, value: text(first), reference: 'aim: 90 MiB' },
    { what: 'memory, the same, started again', value: text(again), reference: 'aim: 90 MiB' },
  ];
}

/** In MiB. */
interface Weight {
  settled: number;
  peak: number;
}

const text = ({ settled, peak }: Weight): string => `${settled} MiB (peak ${peak})`;

async function weigh(
  cluster: Cluster,
  state: string,
  use: (hub: HubProcess) => Promise<void>,
): Promise<Weight> {
  const hub = await startHubProcess(cluster, state);
  try {
    await use(hub);
    await sleep(SETTLE_MS);
    return { settled: hub.residentMiB(), peak: hub.peakMiB() };
  } finally {
    await hub.stop();
  }
}

/** Lists and watches both resources, and keeps the watches open. */
const asKubeProxy =
  (cluster: Cluster) =>
  async (hub: HubProcess): Promise<void> => {
    const way = new Way(hub.url, cluster);
    for (const path of ['/api/v1/services', '/apis/discovery.k8s.io/v1/endpointslices'])
      await way.watch(path, await way.version(path), () => undefined);
  };
