import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  configFromContext,
  KubeClient,
  LEASES,
  NODES,
  PODS,
  type Pod,
  readKubeconfig,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApiServer } from '../../apiserver/index.ts';
import { eventually } from '../testing/eventually.ts';
import { startHollowNodes } from './hollow-nodes.ts';

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let client: KubeClient;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-hollow-'));
  server = await startApiServer({ directory, port: 0, log: silentLogger, version: 'test' });
  const path = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(path);
  const kubeconfig = await readKubeconfig({ path, env: {} });
  client = new KubeClient(await configFromContext(kubeconfig!, { env: {} }));
});

afterAll(async () => {
  await client.close();
  await server.close();
  await rm(directory, { recursive: true });
});

const pod = (name: string, nodeName: string, more: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { nodeName, containers: [{ name: 'main', image: 'any' }], ...more },
});

test('many nodes in one process accept pods, report them ready, and remove them', async () => {
  const nodes = await startHollowNodes({
    name: 'hollow',
    count: 20,
    client,
    labels: { site: 'x' },
    kubeletPort: 10250,
    kubernetesVersion: 'v1.36.4',
    version: 'test',
    clock: systemClock,
    log: silentLogger,
  });
  try {
    expect((await client.list(NODES)).items).toHaveLength(20);
    const names = Array.from({ length: 60 }, (_, i) => `p-${i}`);
    await Promise.all(names.map((name, i) => client.create<Pod>(PODS, pod(name, `hollow-${(i % 20) + 1}`))));
    const job = pod('job', 'hollow-1', {
      restartPolicy: 'Never',
      initContainers: [{ name: 'first', image: 'any' }],
    });
    await client.create<Pod>(PODS, job);
    const ready = await eventually(async () => {
      const { items } = await client.list(PODS, { namespace: 'default' });
      const isReady = ({ status }: Pod): boolean =>
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
      expect(items.filter(isReady)).toHaveLength(60);
      expect(items.find(({ metadata }) => metadata.name === 'job')?.status?.phase).toBe('Succeeded');
      return items.filter(isReady);
    });
    expect(new Set(ready.map(({ status }) => status?.podIP)).size).toBe(60);
    await Promise.all(names.map((name) => client.delete(PODS, { namespace: 'default', name })));
    await eventually(async () => {
      expect((await client.list(PODS, { namespace: 'default' })).items).toHaveLength(1);
    });
    await eventually(async () => {
      expect((await client.list(LEASES, { namespace: 'kube-node-lease' })).items.length).toBeGreaterThan(0);
    });
  } finally {
    await nodes.close();
  }
});
