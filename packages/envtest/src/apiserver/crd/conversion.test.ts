/** Conversion webhooks of CustomResourceDefinitions. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject, Resource } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../cluster.ts';
import { openPki } from '../auth/pki.ts';

interface Boat extends KubeObject {
  spec: { hostPort?: string; host?: string; port?: string };
}

const boats = (version: string): Resource<Boat> => ({
  group: 'example.com',
  version,
  resource: 'boats',
  namespaced: true,
});
const V1 = boats('v1');
const V2 = boats('v2');
const CRDS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};

let directory: string;
let webhook: Server;
let cluster: Cluster;
/** How often the webhook was asked, and for how many objects in all. */
let calls: number;
let converted: number;
let failure: string | undefined;

/** v1 has one field `hostPort`, v2 has `host` and `port`. */
function convert(object: Boat, apiVersion: string): Boat {
  const { hostPort = '', host, port } = object.spec;
  const [first = '', second = ''] = hostPort.split(':');
  const spec = apiVersion.endsWith('v1') ? { hostPort: `${host}:${port}` } : { host: first, port: second };
  return { ...object, apiVersion, spec };
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-conversion-'));
  const pki = openPki({ directory, hosts: ['127.0.0.1'] });
  webhook = createServer({ cert: pki.serving.certificate, key: pki.serving.key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString());
      const { uid, desiredAPIVersion, objects } = review.request;
      calls++;
      converted += objects.length;
      const result = failure === undefined ? { status: 'Success' } : { status: 'Failed', message: failure };
      const convertedObjects = objects.map((object: Boat) => convert(object, desiredAPIVersion));
      response.end(
        JSON.stringify({ ...review, request: undefined, response: { uid, result, convertedObjects } }),
      );
    });
  });
  await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
  const { port } = webhook.address() as AddressInfo;
  cluster = await startCluster();
  const properties = (...names: string[]) => ({
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: Object.fromEntries(names.map((name) => [name, { type: 'string', maxLength: 20 }])),
        },
      },
    },
  });
  await cluster.apply([
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'boats.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'boats', kind: 'Boat' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: properties('hostPort') },
          { name: 'v2', served: true, storage: false, schema: properties('host', 'port') },
        ],
        conversion: {
          strategy: 'Webhook',
          webhook: {
            clientConfig: {
              url: `https://127.0.0.1:${port}/convert`,
              caBundle: Buffer.from(pki.ca).toString('base64'),
            },
            conversionReviewVersions: ['v1'],
          },
        },
      },
    },
  ]);
});
afterAll(async () => {
  await cluster?.stop();
  webhook.closeAllConnections();
  await new Promise((resolve) => webhook.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

const boat = (version: string, name: string, spec: Boat['spec']): Boat => ({
  apiVersion: `example.com/${version}`,
  kind: 'Boat',
  metadata: { name, namespace: 'default' },
  spec,
});

const target = (name: string) => ({ namespace: 'default', name });

test('stores an object in the storage version, and returns it in the version of the request', async () => {
  calls = 0;
  const created = await cluster.client.create(V2, boat('v2', 'a', { host: 'pier', port: '7' }));
  expect(created).toMatchObject({ apiVersion: 'example.com/v2', spec: { host: 'pier', port: '7' } });
  const stored = await cluster.client.get(V1, target('a'));
  expect(stored).toMatchObject({ apiVersion: 'example.com/v1', spec: { hostPort: 'pier:7' } });
  expect(await cluster.client.get(V2, target('a'))).toEqual(created);
  expect(calls).toBe(3);

  const patched = await cluster.client.patch(V2, target('a'), 'merge', { spec: { port: '8' } });
  expect(patched.spec).toEqual({ host: 'pier', port: '8' });
  expect((await cluster.client.get(V1, target('a'))).spec).toEqual({ hostPort: 'pier:8' });
});

test('converts a list with one call, and nothing if the objects are in the right version', async () => {
  for (const name of ['b', 'c']) await cluster.client.create(V1, boat('v1', name, { hostPort: `${name}:1` }));
  [calls, converted] = [0, 0];
  const { items } = await cluster.client.list(V2, { namespace: 'default' });
  expect(items.map(({ spec }) => spec.host)).toEqual(['pier', 'b', 'c']);
  expect([calls, converted]).toEqual([1, 3]);
  await cluster.client.list(V1, { namespace: 'default' });
  expect(calls).toBe(1);
});

test('sends the events of a watch in the version of the request, and in order', async () => {
  const events = await cluster.client.watch(V2, { namespace: 'default', timeoutSeconds: 30 });
  for (let i = 0; i < 5; i++) {
    await cluster.client.create(V1, boat('v1', `w${i}`, { hostPort: `w${i}:1` }));
  }
  const seen: unknown[] = [];
  for await (const event of events) {
    if (event.type !== 'ADDED' || !event.object.metadata.name?.startsWith('w')) continue;
    seen.push(event.object.spec.host);
    if (seen.length === 5) break;
  }
  expect(seen).toEqual(['w0', 'w1', 'w2', 'w3', 'w4']);
});

test('validates an object in the version in which it is written', async () => {
  const long = 'x'.repeat(21);
  await expect(cluster.client.create(V2, boat('v2', 'long', { host: long, port: '1' }))).rejects.toThrow(
    'spec.host: Too long: may not be more than 20 bytes',
  );
});

test('reports that the webhook failed', async () => {
  failure = 'the tide is out';
  try {
    await expect(cluster.client.get(V2, target('a'))).rejects.toThrow(
      'conversion webhook for example.com/v1, Kind=Boat failed: the tide is out',
    );
    // The stored version needs no webhook.
    expect((await cluster.client.get(V1, target('a'))).spec.hostPort).toBe('pier:8');
  } finally {
    failure = undefined;
  }
});

test('converts objects that were stored before the storage version changed', async () => {
  const crd = await cluster.client.get(CRDS, { name: 'boats.example.com' });
  const spec = crd.spec as { versions: { storage: boolean }[] };
  const versions = spec.versions.map((version) => ({ ...version, storage: !version.storage }));
  await cluster.client.update(CRDS, { ...crd, spec: { ...spec, versions } });
  await cluster.client.create(V1, boat('v1', 'new', { hostPort: 'new:2' }));
  const { items } = await cluster.client.list(V2, { namespace: 'default' });
  const hosts = new Map(items.map(({ metadata, spec: { host } }) => [metadata.name, host]));
  expect(hosts.get('a')).toBe('pier');
  expect(hosts.get('new')).toBe('new');
  const updated = await cluster.client.patch(V1, target('a'), 'merge', { spec: { hostPort: 'quay:9' } });
  expect(updated.spec).toEqual({ hostPort: 'quay:9' });
  expect((await cluster.client.get(V2, target('a'))).spec).toEqual({ host: 'quay', port: '9' });
});
