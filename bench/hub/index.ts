/**
 * The benchmark of the hub. cluster.ts starts an API server, hub-process.ts a hub, and nginx.ts a plain reverse proxy; ways.ts
 * lists the three ways to the API server that are compared. Then latency.ts, watchers.ts, filtered-list.ts,
 * upstream-bytes.ts, memory.ts and encodings.ts measure one thing each, with objects.ts as data.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figure, printFigures } from '../report.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { benchEncodings } from './encodings.ts';
import { benchFilteredList, createLargeSlices } from './filtered-list.ts';
import { startHubProcess } from './hub-process.ts';
import { benchLatency } from './latency.ts';
import { benchMemory } from './memory.ts';
import { startNginx } from './nginx.ts';
import { benchUpstreamBytes } from './upstream-bytes.ts';
import { benchWatchers } from './watchers.ts';
import { eachWay, Way } from './ways.ts';

/** Measures the hub in comparison with a direct connection and with nginx as a plain reverse proxy. */
export async function benchHub(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  try {
    const cluster = await startCluster(directory);
    try {
      const figures = [...(await benchMemory(cluster)), ...(await benchUpstreamBytes(cluster))];
      figures.push(...(await benchWays(cluster)));
      printFigures('Hub, beside nginx as a plain reverse proxy and the direct connection', figures);
    } finally {
      await cluster.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function benchWays(cluster: Cluster): Promise<Figure[]> {
  const nginx = await startNginx(cluster);
  const hub = await startHubProcess(cluster, 'hub');
  const urls = { direct: cluster.server.url, nginx: nginx.url, hub: hub.url };
  const pids = { direct: cluster.server.pid, nginx: nginx.pid, hub: hub.pid };
  const ways = await eachWay(async (name) => new Way(urls[name], cluster));
  try {
    const figures = await benchLatency(cluster, ways);
    figures.push(...(await benchWatchers(cluster, urls, pids)));
    await createLargeSlices(cluster);
    figures.push(...(await benchFilteredList(ways)));
    figures.push(...(await benchEncodings(ways.direct)));
    return figures;
  } finally {
    await Promise.all(Object.values(ways).map((way) => way.close()));
    await hub.stop();
    await nginx.stop();
  }
}
