import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Informers, NODES, type Node, type Pod, SERVICES, type Service, silentLogger } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { named, startTestCluster, type TestCluster } from '../testing/cluster.ts';
import type { StandInConfig } from './config.ts';
import { StandInProcesses } from './standins.ts';

let cluster: TestCluster;
let standIns: StandInProcesses;
const stop = new AbortController();
let running: Promise<void>;

beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.admin.create<Node>(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } });
  const informers = new Informers(cluster.admin);
  standIns = new StandInProcesses({
    nodeName: 'node-a',
    nodes: informers.for(NODES),
    services: informers.for(SERVICES),
    images: {
      resolve: (image) =>
        image === 'proxy' ? { kind: 'command', command: ['proxy'], env: {} } : { kind: 'stand-in' },
    },
    log: silentLogger,
  });
  running = informers.run(stop.signal);
  await informers.synced();
});

afterAll(async () => {
  await standIns.close();
  stop.abort();
  await running;
  await cluster.stop();
});

const containers = [
  { name: 'proxy', image: 'proxy' },
  { name: 'web', image: 'nginx', ports: [{ containerPort: 8080 }] },
  { name: 'side', image: 'redis' },
];

function podNamed(name: string, metadata: object = {}): Pod {
  const pod: Pod = named('Pod', name, {
    spec: { containers, initContainers: [{ name: 'init', image: 'x' }] },
  });
  return { ...pod, metadata: { ...pod.metadata, uid: name, labels: { app: 'web' }, ...metadata } };
}

async function configOf(pod: Pod, container: string): Promise<StandInConfig> {
  const file = join(cluster.placeOf(pod.metadata.uid!).container(container).directory, 'stand-in.json');
  return JSON.parse(await readFile(file, 'utf8'));
}

async function place(pod: Pod, name: string): Promise<string[]> {
  const all = [...pod.spec!.containers, ...pod.spec!.initContainers!];
  const container = all.find((candidate) => candidate.name === name)!;
  return standIns.command(pod, container, cluster.placeOf(pod.metadata.uid!).container(name), '127.64.1.2');
}

describe('the configurations of stand-ins', () => {
  test('follow the Services that select the pod, and the pool of the node', async () => {
    const pod = podNamed('web-1');
    const command = await place(pod, 'web');
    await place(pod, 'side');
    expect(command.slice(-2)[0]).toBe('--config');
    expect(await configOf(pod, 'web')).toEqual({
      pod: 'web-1',
      namespace: 'default',
      node: 'node-a',
      pool: null,
      image: 'nginx',
      address: '127.64.1.2',
      ports: [8080],
      completes: false,
    });

    const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 9000 }] };
    await cluster.admin.create<Service>(SERVICES, named('Service', 'web', { spec }));
    await expect.poll(async () => (await configOf(pod, 'web')).ports).toEqual([8080, 9000]);
    expect((await configOf(pod, 'side')).ports).toEqual([]);
    await cluster.admin.delete(SERVICES, { namespace: 'default', name: 'web' });
    await expect.poll(async () => (await configOf(pod, 'web')).ports).toEqual([8080]);

    const labels = { 'apps.openyurt.io/nodepool': 'hangzhou', 'apps.kubeedge.io/belonging-to': 'other' };
    await cluster.admin.patch(NODES, { name: 'node-a' }, 'merge', { metadata: { labels } });
    await expect.poll(async () => (await configOf(pod, 'web')).pool).toBe('hangzhou');
    await standIns.release('web-1');
  });

  test('mark work that is expected to complete', async () => {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u', controller: true };
    const job = podNamed('job-1', { ownerReferences: [owner] });
    await place(job, 'web');
    expect((await configOf(job, 'web')).completes).toBe(true);
    const pod = podNamed('web-2');
    await place(pod, 'init');
    expect(await configOf(pod, 'init')).toMatchObject({ completes: true, ports: [] });
  });
});
