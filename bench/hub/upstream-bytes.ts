import { gunzipSync } from 'node:zlib';
import { type Figure, hammer } from '../report.ts';
import type { Cluster } from './cluster.ts';
import { startHubProcess } from './hub-process.ts';
import { touchSlice } from './latency.ts';
import { Way } from './ways.ts';

const PATHS = ['/api/v1/services', '/apis/discovery.k8s.io/v1/endpointslices'];
/** The number of clients in the second measurement. */
const CROWD = 10;
const EVENTS = 50;

/**
 * Measures the bytes that are received over the link when programs start, list and watch, and objects change.
 */
export async function benchUpstreamBytes(cluster: Cluster): Promise<Figure[]> {
  const [hubOne, hubMany] = [await throughHub(cluster, 1), await throughHub(cluster, CROWD)];
  const [directOne, directMany] = [await direct(cluster, 1), await direct(cluster, CROWD)];
  const row = (clients: number, ours: number, theirs: number): Figure => ({
    what: `from the cloud for ${clients} client${clients > 1 ? 's' : ''}, lists, watches, ${EVENTS} events`,
    value: kilobytes(ours),
    reference: `direct ${kilobytes(theirs)}`,
    ratio: (ours / theirs).toFixed(2),
  });
  return [row(1, hubOne, directOne), row(CROWD, hubMany, directMany)];
}

const isZipped = (bytes: Buffer): boolean => bytes.readUInt16BE() === 0x1f8b;

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1024)} KiB`;

async function throughHub(cluster: Cluster, clients: number): Promise<number> {
  const hub = await startHubProcess(cluster, `hub-for-${clients}`);
  try {
    await live(cluster, hub.url, clients);
    return await hub.metric('tidegate_hub_upstream_received_bytes_total');
  } finally {
    await hub.stop();
  }
}

/** All bytes that the clients receive. */
const direct = (cluster: Cluster, clients: number): Promise<number> =>
  live(cluster, cluster.server.url, clients);

/** Starts the clients, changes an object, and returns the bytes that all clients received. */
async function live(cluster: Cluster, url: string, clients: number): Promise<number> {
  const way = new Way(url, cluster, 2 * CROWD + 1);
  let bytes = 0;
  let events = 0;
  let done: () => void = () => undefined;
  await hammer(clients, clients, async () => {
    for (const path of PATHS) {
      // Clients in Go request compression by default. Watches are never compressed.
      const list = await way.read(`${path}?resourceVersion=0`, { 'accept-encoding': 'gzip' });
      bytes += list.length;
      const { metadata } = JSON.parse((isZipped(list) ? gunzipSync(list) : list).toString());
      await way.watch(path, metadata.resourceVersion, (chunk) => {
        bytes += chunk.length;
        events += chunk.toString().split('\n').length - 1;
        if (events === clients * EVENTS) done();
      });
    }
  });
  const arrived = new Promise<void>((resolve) => {
    done = resolve;
  });
  for (let i = 0; i < EVENTS; i++) await touchSlice(cluster.admin);
  await arrived;
  await way.close();
  return bytes;
}
