/** The journal with the embedded API server, which applies patches as Kubernetes does. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import {
  KubeClient,
  type KubeObject,
  LEASES,
  loadConfig,
  Metrics,
  NODES,
  PODS,
  type Resource,
} from '@tidegate/kube';
import { requestInfo } from '@tidegate/serving';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Journal } from '../../packages/tidegate/src/hub/journal/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const STRATEGIC = 'application/strategic-merge-patch+json';
const signal = new AbortController().signal;

const metrics = new Metrics();

let server: Embedded;
let client: KubeClient;
let directory: string;
let map: DurableMap;
let journal: Journal;

beforeAll(async () => {
  server = await startEmbedded();
  client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  directory = await mkdtemp(join(tmpdir(), 'tidegate-journal-'));
  map = await DurableMap.open(join(directory, 'journal'));
  journal = await Journal.open(map, {
    nodeName: 'edge-1',
    decode: (_type, body) => JSON.parse(String(body)),
    metrics,
  });
});

afterAll(async () => {
  await map.close();
  await rm(directory, { recursive: true, force: true });
  await client.close();
  await server.stop();
});

function write(method: string, path: string, contentType: string, body: unknown, base?: KubeObject) {
  const info = requestInfo(method, new URL(path, 'http://hub'));
  if (info.type !== 'resource') throw new Error(`${path} names no resource`);
  const query = new URLSearchParams();
  return journal.write({ info, query, contentType, body: Buffer.from(JSON.stringify(body)) }, base);
}

const condition = (type: string, status: string, reason: string, message?: string) => ({
  type,
  status,
  reason,
  ...(message === undefined ? {} : { message }),
  lastHeartbeatTime: '2026-01-01T00:00:00Z',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

it('sends the status of a node, and keeps what other clients wrote in the meantime', async () => {
  await client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'edge-1' } });
  const target = { name: 'edge-1', subresource: 'status' };
  const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
  const conditions = [condition('Ready', 'True', 'KubeletReady')];
  const base = await client.patch(NODES, target, 'strategic', { status: { conditions, addresses } });

  const path = '/api/v1/nodes/edge-1/status';
  const moved = [
    { type: 'InternalIP', address: '10.0.0.2' },
    { type: 'InternalIP', address: 'fd00::2' },
  ];
  const patch = {
    status: {
      '$setElementOrder/conditions': [{ type: 'Ready' }, { type: 'DiskPressure' }],
      conditions: [{ type: 'Ready', reason: 'Again' }, condition('DiskPressure', 'False', 'Fine')],
      addresses: [...moved, { $patch: 'replace' }],
    },
  };
  const answer = await write('PATCH', path, STRATEGIC, patch, base);
  await client.patch(NODES, target, 'strategic', {
    status: {
      conditions: [
        condition('Ready', 'Unknown', 'NodeStatusUnknown', 'no heartbeat'),
        condition('Net', 'True', 'Up'),
      ],
    },
  });

  expect(await journal.replay(client, signal)).toEqual({ sent: 1, dropped: 0 });
  const { status } = await client.get(NODES, { name: 'edge-1' });
  expect(status?.addresses).toEqual(moved);
  expect(status?.addresses).toEqual((answer.status as typeof status)?.addresses);
  const byType = new Map(status?.conditions?.map((one) => [one.type, one]));
  expect(byType.get('Ready')).toEqual(condition('Ready', 'True', 'Again'));
  expect(byType.get('DiskPressure')).toEqual(condition('DiskPressure', 'False', 'Fine'));
  expect(byType.get('Net')).toEqual(condition('Net', 'True', 'Up'));
});

it('renews the lease of the node', async () => {
  const namespace = 'kube-node-lease';
  const leaseAt = (renewTime: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'edge-1', namespace },
    spec: { holderIdentity: 'edge-1', leaseDurationSeconds: 40, renewTime },
  });
  const base = await client.create(LEASES, leaseAt('2026-01-01T00:00:00.000000Z'));
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/edge-1`;
  await write('PUT', path, 'application/json', leaseAt('2026-01-01T00:10:00.000000Z'), base);
  expect(await journal.replay(client, signal)).toEqual({ sent: 1, dropped: 0 });
  const { spec } = await client.get(LEASES, { name: 'edge-1', namespace });
  expect(spec).toEqual(leaseAt('2026-01-01T00:10:00.000000Z').spec);
});

it('drops the status of a pod that was replaced', async () => {
  const pod = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'edge-1', containers: [{ name: 'c', image: 'i' }] },
  });
  const target = (name: string) => ({ name, namespace: 'default' });
  const bases = await Promise.all(['replaced', 'gone', 'kept'].map((name) => client.create(PODS, pod(name))));
  for (const base of bases) {
    const path = `/api/v1/namespaces/default/pods/${base.metadata.name}/status`;
    const patch = {
      metadata: { uid: base.metadata.uid },
      status: { phase: 'Running', podIPs: [{ ip: '10.1.0.1' }] },
    };
    await write('PATCH', path, STRATEGIC, patch, base);
  }
  for (const name of ['replaced', 'gone']) await client.delete(PODS, target(name), { gracePeriodSeconds: 0 });
  await client.create(PODS, pod('replaced'));
  expect(await journal.replay(client, signal)).toEqual({ sent: 1, dropped: 2 });
  const drops = (await metrics.scrape()).split('\n').filter((line) => line.includes('dropped_total{'));
  expect(drops.map((line) => line.replace(/^[^{]*/, '')).sort()).toEqual([
    '{reason="gone"} 1',
    '{reason="replaced"} 1',
  ]);
  expect((await client.get(PODS, target('replaced'))).status?.phase).toBe('Pending');
  expect((await client.get(PODS, target('kept'))).status).toMatchObject({
    phase: 'Running',
    podIPs: [{ ip: '10.1.0.1' }],
  });
});

it('creates events, and updates their count', async () => {
  const event = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'kept' },
    reason: 'BackOff',
    type: 'Warning',
    count: 1,
  });
  const path = '/api/v1/namespaces/default/events';
  await client.create(EVENTS, event('online'));
  await write('POST', path, 'application/json', event('offline'));
  await write('PATCH', `${path}/offline`, STRATEGIC, { count: 2 });
  await write('PATCH', `${path}/online`, STRATEGIC, { count: 3 });
  expect(await journal.replay(client, signal)).toEqual({ sent: 2, dropped: 0 });
  const countOf = async (name: string) => (await client.get(EVENTS, { name, namespace: 'default' })).count;
  expect(await countOf('offline')).toBe(2);
  expect(await countOf('online')).toBe(3);
  expect(journal.size).toBe(0);
});
