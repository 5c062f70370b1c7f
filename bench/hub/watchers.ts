import { cpuMs } from '../apiserver/servers.ts';
import { type Figure, hammer, millis, quantile } from '../report.ts';
import type { Cluster } from './cluster.ts';
import { touchSlice } from './latency.ts';
import { eachWay, type PerWay, Way } from './ways.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const WATCHERS = 500;
const ROUNDS = 20;

interface Outcome {
  /** For each round, the time until the last watcher has the event. */
  allMs: number[];
  /** CPU time per event, of the process on the way and of the API server. */
  wayMs: number;
  serverMs: number;
}

/** Measures the delivery of one event to many programs of the node. */
export async function benchWatchers(
  cluster: Cluster,
  urls: PerWay<string>,
  pids: PerWay<number>,
): Promise<Figure[]> {
  const { direct, nginx, hub } = await eachWay((name) => fanOut(cluster, urls[name], pids[name]));
  const all = (outcome: Outcome): string => millis(quantile(outcome.allMs, 0.5));
  return [
    {
      what: `event to ${WATCHERS} watchers, until the last has it, p50`,
      value: all(hub),
      reference: `nginx ${all(nginx)}, direct ${all(direct)}`,
      ratio: (quantile(hub.allMs, 0.5) / quantile(nginx.allMs, 0.5)).toFixed(2),
    },
    {
      what: 'CPU on the node for it',
      value: millis(hub.wayMs),
      reference: `nginx ${millis(nginx.wayMs)}`,
      ratio: (hub.wayMs / nginx.wayMs).toFixed(2),
    },
    {
      what: 'CPU of the API server for it',
      value: millis(hub.serverMs),
      reference: `nginx ${millis(nginx.serverMs)}, direct ${millis(direct.serverMs)}`,
      ratio: (hub.serverMs / nginx.serverMs).toFixed(2),
    },
  ];
}

async function fanOut(cluster: Cluster, url: string, pid: number): Promise<Outcome> {
  const way = new Way(url, cluster, WATCHERS + 1);
  const version = await way.version(SLICES);
  let missing = 0;
  let allArrived: () => void = () => undefined;
  await hammer(WATCHERS, 25, async () => {
    await way.watch(SLICES, version, () => --missing === 0 && allArrived());
  });
  const before = [cpuMs(pid), cpuMs(cluster.server.pid)] as const;
  const allMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    missing = WATCHERS;
    const arrived = new Promise<void>((resolve) => {
      allArrived = resolve;
    });
    const started = performance.now();
    await Promise.all([touchSlice(cluster.admin), arrived]);
    allMs.push(performance.now() - started);
  }
  const wayMs = (cpuMs(pid) - before[0]) / ROUNDS;
  const serverMs = (cpuMs(cluster.server.pid) - before[1]) / ROUNDS;
  await way.close();
  return { allMs, wayMs, serverMs };
}
