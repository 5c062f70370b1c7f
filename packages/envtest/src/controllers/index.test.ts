import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DEPLOYMENTS,
  KubeClient,
  LEASES,
  loadConfig,
  Metrics,
  NODES,
  PODS,
  type Pod,
  silentLogger,
} from '@tidegate/kube';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PATIENCE_MS } from '../../../../test/support/patience.ts';
import { reservePort } from '../../../../test/support/ports.ts';
import { startApiServer } from '../apiserver/index.ts';
import { runControllers } from './index.ts';

type Server = Awaited<ReturnType<typeof startApiServer>>;

const GRACE_MS = 1000;

let directory: string;
let port: number;
let server: Server;
let client: KubeClient;
const stop = new AbortController();
let running: Promise<void>;
/** The simulated node agents, which end with `stop`. */
const agents: Promise<void>[] = [];

const startServer = (): Promise<Server> =>
  startApiServer({ directory, port, log: silentLogger, version: 'test' });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-controllers-'));
  port = await reservePort();
  server = await startServer();
  const path = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(path);
  client = new KubeClient(await loadConfig({ path, env: {} }));
  const { signal } = stop;
  await new Promise<void>((onSynced, reject) => {
    running = runControllers({
      client,
      clusterCidr: '127.99.0.0/16',
      nodeGraceMs: GRACE_MS,
      log: silentLogger,
      metrics: new Metrics(),
      signal,
      onSynced,
    });
    running.catch(reject);
  });
});

afterEach(async () => {
  stop.abort();
  await Promise.all([running, ...agents]);
  await client.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

it('runs a Deployment on its nodes, and loses no pod when the API server is down for longer than the grace period', async () => {
  for (const name of ['a', 'b']) await joinCluster(name);
  await client.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          containers: [{ name: 'c', image: 'i' }],
          tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }],
        },
      },
    },
  });
  const before = await eventually(async () => {
    const found = await pods();
    return found.length === 4 && found.every(({ spec }) => spec?.nodeName !== undefined) && found;
  });
  expect(before.map(({ spec }) => spec?.nodeName).sort()).toEqual(['a', 'a', 'b', 'b']);

  await server.close();
  await sleep(GRACE_MS + 200);
  server = await startServer();
  await client.patch(DEPLOYMENTS, { namespace: 'default', name: 'web' }, 'merge', { spec: { replicas: 5 } });
  const after = await eventually(async () => {
    const found = await pods();
    return found.length === 5 && found.every(({ spec }) => spec?.nodeName !== undefined) && found;
  });
  expect(after.map(nameOf)).toEqual(expect.arrayContaining(before.map(nameOf)));
  expect(after.every(({ metadata }) => metadata.deletionTimestamp === undefined)).toBe(true);
  // On a busy machine, the leases may be late once more.
  const ready = async (): Promise<unknown[]> =>
    (await client.list(NODES)).items.map(({ status }) => status?.conditions?.map((each) => each.status));
  await expect.poll(ready).toEqual([['True'], ['True']]);
});

const nameOf = ({ metadata }: Pod): string | undefined => metadata.name;
const pods = async (): Promise<Pod[]> => (await client.list(PODS, { namespace: 'default' })).items;

/** Does what an agent does: registers, renews the Lease, reports status. */
async function joinCluster(name: string): Promise<void> {
  const capacity = { cpu: '4', memory: '8Gi', pods: '110' };
  await client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { capacity } });
  await client.create(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-node-lease' },
    spec: { holderIdentity: name },
  });
  agents.push(renewLease(name));
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: now, lastTransitionTime: now }];
  await client.patch(NODES, { name, subresource: 'status' }, 'strategic', { status: { conditions } });
}

async function renewLease(name: string): Promise<void> {
  const target = { namespace: 'kube-node-lease', name };
  for (; !stop.signal.aborted; await sleep(100)) {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const renewal = client.patch(LEASES, target, 'merge', { spec: { renewTime } }, { deadlineMs: GRACE_MS });
    // Fails while the API server is down.
    await renewal.catch(() => {});
  }
}

async function eventually<T>(look: () => Promise<T | false>): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(20)) {
    const answer = await look();
    if (answer !== false) return answer;
    if (performance.now() > end) throw new Error('not seen in time');
  }
}
