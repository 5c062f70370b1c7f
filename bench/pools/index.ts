import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, type KubeObject, loadConfig, NODES, type Node, systemClock } from '@tidegate/kube';
import {
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_GROUP_LABEL,
  NODE_GROUPS,
} from '../../packages/tidegate/src/api/index.ts';
import { installDefinitions } from '../../packages/tidegate/src/manager/install.ts';
import { cpuMs, residentMiB, startTidegate, stop } from '../apiserver/servers.ts';
import { type Figure, hammer, millis, printFigures, quantile } from '../report.ts';

const PROGRAM = new URL('../../bin/tidegate', import.meta.url).pathname;
const SIZES = {
  small: { nodes: 1_000, pools: 50, apps: 100 },
  large: { nodes: 10_000, pools: 500, apps: 1_000 },
};
type Size = (typeof SIZES)['small'];
const HEARTBEATS = 1_000;
const MOVES = 50;

/** The figures of one size. `coldMs` and `moveMs` are wall-clock times; the micros are CPU time per operation. */
interface Outcome {
  coldMs: number;
  memoryMiB: number;
  heartbeatMicros: number;
  moveMs: number[];
  moveMicros: number;
}

/**
 * Measures pools and applications at two sizes. The cost of a change of one node must not grow with the cluster; the
 * ratio in the last column shows that.
 */
export async function benchPools(): Promise<void> {
  const small = await measure(SIZES.small);
  const large = await measure(SIZES.large);
  const figures: Figure[] = [
    row(
      'cold start until all nodes and applications are placed',
      seconds(large.coldMs),
      seconds(small.coldMs),
      large.coldMs / small.coldMs,
    ),
    row(
      'memory of the manager',
      `${large.memoryMiB} MiB`,
      `${small.memoryMiB} MiB`,
      large.memoryMiB / small.memoryMiB,
    ),
    row(
      'one heartbeat, CPU of the manager',
      micros(large.heartbeatMicros),
      micros(small.heartbeatMicros),
      large.heartbeatMicros / small.heartbeatMicros,
    ),
    row(
      'one node moves, CPU of the manager',
      micros(large.moveMicros),
      micros(small.moveMicros),
      large.moveMicros / small.moveMicros,
    ),
    ...([0.5, 0.99] as const).map((share) =>
      row(
        `one node moves, until it is labeled, p${share * 100}`,
        millis(quantile(large.moveMs, share)),
        millis(quantile(small.moveMs, share)),
        quantile(large.moveMs, share) / quantile(small.moveMs, share),
      ),
    ),
  ];
  printFigures(
    `Pools and applications: ${describe(SIZES.large)}; reference: ${describe(SIZES.small)}`,
    figures,
  );
}

const describe = ({ nodes, pools, apps }: Size): string =>
  `${nodes} nodes, ${pools} pools, ${apps} applications`;
const row = (what: string, value: string, reference: string, ratio: number): Figure => ({
  what,
  value,
  reference,
  ratio: ratio.toFixed(2),
});
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const micros = (us: number): string => `${Math.round(us)} µs`;

async function measure(size: Size): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  const server = await startTidegate(directory);
  const client = new KubeClient(await loadConfig({ env: process.env, path: server.kubeconfig }));
  let manager: ChildProcess | undefined;
  try {
    // The manager and its admission webhook start later, so that the cold start includes all applications.
    await installDefinitions(client, systemClock, new AbortController().signal);
    await fill(client, size);
    const started = performance.now();
    const ports = ['--webhook-port', '0', '--admin-port', '0'];
    manager = spawn(
      PROGRAM,
      ['manager', '--kubeconfig', server.kubeconfig, ...ports, '--log-level', 'warn'],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const pid = manager.pid ?? 0;
    await until('all nodes and applications are placed', () => allPlaced(client, size));
    const coldMs = performance.now() - started;
    // The remaining writes of the cold start must not count for the measurements that follow.
    await quiet(pid);
    const memoryMiB = residentMiB(pid);
    const heartbeatMicros = await cpuOf(pid, HEARTBEATS, () => heartbeats(client, size));
    const moveMs: number[] = [];
    const moveMicros = await cpuOf(pid, MOVES, async () => {
      for (let i = 0; i < MOVES; i++) moveMs.push(await move(client, i, size));
    });
    return { coldMs, memoryMiB, heartbeatMicros, moveMs, moveMicros };
  } finally {
    if (manager !== undefined) await stop(manager);
    await client.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

const site = (i: number): string => `site-${i}`;

const node = (i: number, { pools }: Size): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `node-${i}`,
    labels: { location: site(i % pools), 'kubernetes.io/hostname': `node-${i}` },
  },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }],
  },
});

const group = (i: number): KubeObject => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'NodeGroup',
  metadata: { name: site(i) },
  spec: { matchLabels: { location: site(i) } },
});

const application = (i: number, { pools }: Size): KubeObject => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name: `app-${i}`, namespace: 'default' },
  spec: {
    workloadTemplate: {
      manifests: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: `web-${i}` },
          spec: {
            selector: { matchLabels: { app: `web-${i}` } },
            template: {
              metadata: { labels: { app: `web-${i}` } },
              spec: { containers: [{ name: 'web', image: 'nginx:1' }] },
            },
          },
        },
      ],
    },
    workloadScope: {
      targetNodeGroups: [0, 1].map((n) => ({ name: site((2 * i + n) % pools), overriders: { replicas: n } })),
    },
  },
});

/** Creates all nodes, pools and applications. */
async function fill(client: KubeClient, size: Size): Promise<void> {
  await hammer(size.nodes, 32, async (i) => {
    await client.create(NODES, node(i, size));
  });
  await hammer(size.pools, 32, async (i) => {
    await client.create(NODE_GROUPS, group(i));
  });
  await hammer(size.apps, 32, async (i) => {
    await client.create(EDGE_APPLICATIONS, application(i, size));
  });
}

/** Whether every application has a status for both of its pools, and every node has the label of its pool. */
async function allPlaced(client: KubeClient, size: Size): Promise<boolean> {
  const { items } = await client.list<EdgeApplication & KubeObject>(EDGE_APPLICATIONS, {
    resourceVersion: '0',
  });
  const placed = items.filter(({ status }) => status?.manifestStatuses?.length === 2).length;
  if (placed < size.apps) return false;
  const nodes = await client.list(NODES, { labelSelector: NODE_GROUP_LABEL });
  return nodes.items.length === size.nodes;
}

/** Updates that change no pool. The manager must notice that cheaply. */
async function heartbeats(client: KubeClient, size: Size): Promise<void> {
  await hammer(HEARTBEATS, 8, async (i) => {
    await client.patch(NODES, { name: `node-${i % size.nodes}`, subresource: 'status' }, 'strategic', {
      status: {
        conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }],
      },
    });
  });
}

/** Milliseconds from the write that relabels a node until it has the label of its new group. */
async function move(client: KubeClient, i: number, { pools }: Size): Promise<number> {
  const name = `node-${i}`;
  const to = site((i + 1) % pools);
  const seen = new AbortController();
  const events = await client.watch<Node>(NODES, {
    fieldSelector: `metadata.name=${name}`,
    signal: seen.signal,
  });
  const started = performance.now();
  await client.patch(NODES, { name }, 'merge', { metadata: { labels: { location: to } } });
  for await (const { object } of events) if (object.metadata.labels?.[NODE_GROUP_LABEL] === to) break;
  seen.abort();
  return performance.now() - started;
}

/** Microseconds of processor time that a process spent on each of `count` operations. */
async function cpuOf(pid: number, count: number, work: () => Promise<void>): Promise<number> {
  const before = cpuMs(pid);
  await work();
  await quiet(pid);
  return ((cpuMs(pid) - before) * 1000) / count;
}

/** Waits until a process uses almost no CPU time: at most 10 ms within a second. */
async function quiet(pid: number): Promise<void> {
  for (let last = -1, now = cpuMs(pid); now - last > 10; last = now, now = cpuMs(pid)) await sleep(1_000);
}

async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 300_000;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`not within five minutes: ${what}`);
    // Not more often, because a list of all nodes takes CPU time of the server that is measured.
    await sleep(1_000);
  }
}
