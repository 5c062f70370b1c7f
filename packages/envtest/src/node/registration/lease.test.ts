import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  isNotFound,
  KubeClient,
  LEASES,
  type Lease,
  loadConfig,
  NODES,
  type Node,
  silentLogger,
} from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApiServer } from '../../apiserver/index.ts';
import { NodeLease } from './lease.ts';

const { signal } = new AbortController();
let client: KubeClient;
let close: () => Promise<void>;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-lease-'));
  const server = await startApiServer({ directory, port: 0, log: silentLogger, version: 'test' });
  const path = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(path);
  client = new KubeClient(await loadConfig({ path, env: {} }));
  close = async () => {
    await client.close();
    await server.close();
    await rm(directory, { recursive: true, force: true });
  };
});
afterAll(() => close());

const newNode = (name: string): Promise<Node> =>
  client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
const target = (name: string) => ({ namespace: 'kube-node-lease', name });
const leaseOf = (name: string): Promise<Lease> => client.get(LEASES, target(name));

it('belongs to the current Node, and so survives one that was deleted', async () => {
  let node = await newNode('deleted');
  const lease = new NodeLease(client, () => node, new VirtualClock());
  await lease.renew(signal);
  expect((await leaseOf('deleted')).metadata.ownerReferences).toMatchObject([{ uid: node.metadata.uid }]);
  await client.delete(NODES, { name: 'deleted' });
  // The API server does this too, a little later.
  await client.delete(LEASES, target('deleted')).catch((error) => {
    if (!isNotFound(error)) throw error;
  });
  node = await newNode('deleted');
  await lease.renew(signal);
  expect((await leaseOf('deleted')).metadata.ownerReferences).toMatchObject([{ uid: node.metadata.uid }]);
});

it('is taken over from an earlier agent, and from another client that wrote it in between', async () => {
  const node = await newNode('again');
  await new NodeLease(client, () => node, new VirtualClock()).renew(signal);
  const later = new NodeLease(client, () => node, new VirtualClock(Date.UTC(2027, 0, 1)));
  await later.renew(signal);
  expect((await leaseOf('again')).spec?.renewTime).toBe('2027-01-01T00:00:00.000000Z');
  await client.patch(LEASES, target('again'), 'merge', { metadata: { labels: { seen: 'yes' } } });
  await later.renew(signal);
  expect((await leaseOf('again')).metadata.labels).toEqual({ seen: 'yes' });
});

it('fails when the server rejects the Lease, and does not retry forever', async () => {
  const node = await newNode('refused');
  const nameless = { ...node, metadata: { ...node.metadata, name: 'Not A Name' } };
  const lease = new NodeLease(client, () => nameless, new VirtualClock());
  await expect(lease.renew(signal)).rejects.toThrow('is invalid');
});
