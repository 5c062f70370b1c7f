/** The client library against the embedded server, used as a controller would. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { startApiServer } from '@tidegate/envtest/apiserver';
import {
  Applier,
  Informers,
  isExpired,
  KubeClient,
  type KubeObject,
  loadConfig,
  NAMESPACES,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { PATIENCE_MS } from '../support/patience.ts';
import { reservePort } from '../support/ports.ts';

const CONFIGMAPS = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let client: KubeClient;

const start = async (port: number): ReturnType<typeof startApiServer> =>
  startApiServer({ directory, port, log: silentLogger, version: 'test' });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-kit-'));
  server = await start(await reservePort());
  const kubeconfig = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(kubeconfig);
  client = new KubeClient(await loadConfig({ env: {}, path: kubeconfig }));
});
afterAll(async () => {
  await client.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

test('keeps an informer up to date through changes and a restart', async () => {
  const stop = new AbortController();
  const informers = new Informers(client);
  const informer = informers.for(CONFIGMAPS, { namespace: 'default' });
  const running = informers.run(stop.signal);
  await informer.synced;
  await client.create(CONFIGMAPS, configMap('before'), { namespace: 'default' });
  await vi.waitFor(() => expect(informer.cache.get('default/before')).toBeDefined(), PATIENCE_MS);

  const { port } = server;
  await server.close();
  server = await start(port);
  await client.create(CONFIGMAPS, configMap('after'), { namespace: 'default' });
  await client.delete(CONFIGMAPS, { namespace: 'default', name: 'before' });
  await vi.waitFor(() => {
    expect(informer.cache.get('default/after')).toBeDefined();
    expect(informer.cache.get('default/before')).toBeUndefined();
  }, PATIENCE_MS);
  stop.abort();
  await running;
});

test('ends a watch from a compacted revision with 410', async () => {
  // The server keeps a limited number of changes. Exceeding it with writes to a single object is cheap.
  const events = async (): Promise<void> => {
    const watch = await client.watch(CONFIGMAPS, { namespace: 'default', resourceVersion: '1' });
    for await (const _ of watch) return;
  };
  const { core } = server;
  const key = { resource: 'configmaps', namespace: 'default', name: 'busy' };
  const value = Buffer.from(
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"busy","namespace":"default"}}',
  );
  for (let i = 0; i < 21; i++) {
    await Promise.all(
      Array.from({ length: 1000 }, () => core.store.write(key, () => ({ type: 'put', value }))),
    );
  }
  await expect(events()).rejects.toSatisfy(isExpired);
});

test('applies an update without a resourceVersion to the current object', async () => {
  await client.create(CONFIGMAPS, configMap('free', { a: '1' }), { namespace: 'default' });
  const wanted = { ...configMap('free', { a: '2' }), metadata: { name: 'free', namespace: 'default' } };
  const updated = await client.update(CONFIGMAPS, wanted);
  expect(updated).toMatchObject({ data: { a: '2' } });
});

test('names every invalid field once in the error of an update', async () => {
  const object = {
    ...configMap('free'),
    metadata: { name: 'free', namespace: 'default', labels: { 'a b': 'c' } },
  };
  const refused = await client.update(CONFIGMAPS, object).catch((error: unknown) => error);
  expect(refused).toMatchObject({ details: { causes: [{ field: 'metadata.labels' }] } });
});

test('compresses large responses on request and reads compressed bodies', async () => {
  const { Agent, request } = await import('undici');
  const { pki, url } = server;
  const dispatcher = new Agent({ connect: { ca: pki.ca, cert: pki.admin.certificate, key: pki.admin.key } });
  const path = `${url}/api/v1/namespaces/default/configmaps`;
  try {
    const body = gzipSync(JSON.stringify(configMap('zipped', { text: 'x'.repeat(300_000) })));
    const created = await request(path, {
      dispatcher,
      method: 'POST',
      headers: { 'content-encoding': 'gzip' },
      body,
    });
    await created.body.dump();
    expect(created.statusCode).toBe(201);
    const answer = await request(`${path}/zipped`, { dispatcher, headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers['content-encoding']).toBe('gzip');
    const object = JSON.parse(gunzipSync(Buffer.from(await answer.body.arrayBuffer())).toString());
    expect(object.data.text).toHaveLength(300_000);
  } finally {
    await dispatcher.close();
  }
});

test('rejects bodies that are too large and unsupported media types', async () => {
  const { Agent, request } = await import('undici');
  const { pki, url } = server;
  const dispatcher = new Agent({ connect: { ca: pki.ca, cert: pki.admin.certificate, key: pki.admin.key } });
  const path = `${url}/api/v1/namespaces/default/configmaps`;
  try {
    const big = await request(path, {
      dispatcher,
      method: 'POST',
      body: JSON.stringify(configMap('big', { t: 'x'.repeat(4 << 20) })),
    });
    expect(big.statusCode).toBe(413);
    await big.body.dump();
    const odd = await request(path, {
      dispatcher,
      headers: { accept: 'application/cbor' },
    });
    expect(odd.statusCode).toBe(406);
    await odd.body.dump();
    const yaml = await request(`${path}`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/yaml', accept: 'application/yaml' },
      body: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: b}\n',
    });
    expect(yaml.headers['content-type']).toBe('application/yaml');
    expect(await yaml.body.text()).toContain('name: plain');
  } finally {
    await dispatcher.close();
  }
});

test('rejects certificates of another CA and denies anonymous users', async () => {
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connect: { ca: server.pki.ca } });
  try {
    const anonymous = await request(`${server.url}/api/v1/namespaces/default/secrets`, { dispatcher });
    expect(anonymous.statusCode).toBe(403);
    await anonymous.body.dump();
    const token = await request(`${server.url}/api/v1/namespaces`, {
      dispatcher,
      headers: { authorization: 'Bearer nonsense' },
    });
    expect(token.statusCode).toBe(401);
    await token.body.dump();
  } finally {
    await dispatcher.close();
  }
});

test('creates an object once when many clients apply it at the same time', async () => {
  for (let round = 0; round < 10; round++) {
    const applied = await Promise.all(
      ['a', 'b', 'c', 'd'].map((manager) => {
        const object = configMap(`contended-${round}`, { [manager]: 'yes' });
        object.metadata = { ...object.metadata, namespace: 'default' } as typeof object.metadata;
        return new Applier(client, manager).apply(object, { resource: CONFIGMAPS });
      }),
    );
    expect(new Set(applied.map(({ metadata }) => (metadata as { uid?: string }).uid)).size).toBe(1);
  }
});

test('retries a subresource write without a resourceVersion and rejects one with an old resourceVersion', async () => {
  const name = 'busy';
  const made: KubeObject = await client.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });
  const finalize = (round: number, resourceVersion?: string) =>
    client.update(
      NAMESPACES,
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, resourceVersion },
        spec: { finalizers: ['kubernetes', `example.com/round-${round}`] },
      },
      { subresource: 'finalize' },
    );
  const label = (key: string, round: number) =>
    client.patch(NAMESPACES, { name }, 'merge', { metadata: { labels: { [key]: `${round}` } } });
  for (let round = 0; round < 20; round++)
    await Promise.all([label('a', round), finalize(round), label('b', round), finalize(round)]);
  await expect(finalize(0, made.metadata.resourceVersion)).rejects.toThrow('the object has been modified');
  await client.update(
    NAMESPACES,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: ['kubernetes'] } },
    { subresource: 'finalize' },
  );
  await client.delete(NAMESPACES, { name });
});

test('never returns NotFound for an apply while other clients delete the object', async () => {
  const target = { namespace: 'default', name: 'flapping' };
  for (let round = 0; round < 20; round++) {
    const object = { ...configMap('flapping', { round: String(round) }), metadata: target };
    await Promise.all([
      new Applier(client, 'a').apply(object, { resource: CONFIGMAPS }),
      client.delete(CONFIGMAPS, target).catch(() => {}), // Often it is not there yet.
      new Applier(client, 'b').apply(object, { resource: CONFIGMAPS }),
    ]);
  }
});
