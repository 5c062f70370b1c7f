/** Two nodes of one machine: both serve the same ClusterIP, each with the endpoints that it may see. */
import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ENDPOINT_SLICES,
  EventRecorder,
  Informers,
  SERVICES,
  type Service,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../../../test/support/process.ts';
import { servicesOf } from '../nodeport/node-ports.ts';
import { startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { eventually } from '../testing/eventually.ts';
import { ClusterIPs } from './cluster-ips.ts';

const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const CLUSTER_IP = `${RANGE}.100`;
const PORT = 8000;

let cluster: TestCluster;
let directory: string;
const servers: Server[] = [];
const stops = new Map<string, () => Promise<void>>();

beforeAll(async () => {
  cluster = await startTestCluster(`${RANGE}.0/24`);
  directory = await mkdtemp(join(tmpdir(), 'tidegate-cluster-ips-'));
  for (const node of ['a', 'b']) await mkdir(stateOf(node));
  for (const [node, address] of [
    ['a', `${RANGE}.11`],
    ['b', `${RANGE}.12`],
  ] as const) {
    const server = createServer((socket) => socket.end(node));
    await new Promise<void>((resolve) => server.listen(8080, address, resolve));
    servers.push(server);
  }
  await cluster.admin.create<Service>(SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      clusterIP: CLUSTER_IP,
      internalTrafficPolicy: 'Local',
      ports: [{ port: PORT, targetPort: 8080 }],
    },
  });
  await cluster.admin.create(ENDPOINT_SLICES, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: ['a', 'b'].map((nodeName, i) => ({ addresses: [`${RANGE}.1${i + 1}`], nodeName })),
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  });
  // `a` listens first. `b` gets its connections from `a`.
  start('a');
  await eventually(async () => expect(await askFrom('a')).toBe('a'));
  start('b');
});

afterAll(async () => {
  for (const stop of stops.values()) await stop();
  for (const server of servers) server.close();
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

const stateOf = (node: string): string => join(directory, node);

function start(node: string): void {
  const stop = new AbortController();
  const informers = new Informers(cluster.admin, { clock: systemClock, log: silentLogger });
  const recorder = new EventRecorder(cluster.admin, {
    component: 'kubelet',
    instance: node,
    log: silentLogger,
  });
  const slices = informers.for(ENDPOINT_SLICES);
  slices.addIndex('service', servicesOf);
  const ips = new ClusterIPs({
    nodeName: node,
    stateDirectory: stateOf(node),
    services: informers.for(SERVICES),
    slices,
    recorder,
    log: silentLogger,
    clock: systemClock,
  });
  const running = Promise.all([informers.run(stop.signal), ips.run(stop.signal)]);
  stops.set(node, async () => {
    stop.abort();
    await running;
    recorder.close();
  });
}

/** The answer to a process that is a container of the node. */
async function askFrom(node: string): Promise<string> {
  const code = `require('node:net').connect(${PORT}, '${CLUSTER_IP}').on('error', () => {}).pipe(process.stdout)`;
  const container = `${stateOf(node)}/pods/u-1/containers/main:tidegate://1`;
  return run([process.execPath, '-e', code], { env: { TIDEGATE_CONTAINER: container } });
}

test('each client gets the endpoints of its own node, whichever agent listens', async () => {
  await eventually(async () => expect(await askFrom('b')).toBe('b'));
  expect(await askFrom('a')).toBe('a');
});

test('another agent listens when the first one ends', async () => {
  await stops.get('a')?.();
  stops.delete('a');
  await eventually(async () => expect(await askFrom('b')).toBe('b'));
});
