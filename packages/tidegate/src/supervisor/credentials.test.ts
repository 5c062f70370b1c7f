import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '@tidegate/envtest/apiserver';
import { KubeClient, loadConfig, NODES, PODS, SERVICES, silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodeCredentials } from './credentials.ts';
import { installRbac } from './install.ts';
import { ProxyToken } from './proxy-token.ts';

const HUB_MANIFESTS = join(import.meta.dirname, '../../../../deploy/base/hub.yaml');

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let admin: KubeClient;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-credentials-'));
  server = await startApiServer({ directory, port: 0, log: silentLogger, version: 'test' });
  server.writeAdminKubeconfig(join(directory, 'admin'));
  admin = new KubeClient(await loadConfig({ path: join(directory, 'admin'), env: {} }));
});
afterAll(async () => {
  await admin.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const HUB = 'https://127.64.0.1:10268';

const credentialsFor = (url: string) =>
  nodeCredentials({
    client: admin,
    node: 'node-a',
    directory: join(directory, 'node-a'),
    server: url,
    hub: HUB,
    proxyTokenFile: join(directory, 'token'),
    signal: new AbortController().signal,
  });

it('the API server identifies a node by the certificate of its hub', async () => {
  const { hub, kubelet } = await credentialsFor(server.url);
  expect((await stat(hub)).mode & 0o777).toBe(0o600);
  const config = await loadConfig({ path: hub, env: {} });
  const client = new KubeClient(config);
  try {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } };
    expect(await client.create(NODES, node)).toMatchObject({ metadata: { name: 'node-a' } });
    const other = { ...node, metadata: { name: 'node-b' } };
    await expect(client.create(NODES, other)).rejects.toThrow(
      'node "node-a" is not allowed to modify node "node-b"',
    );
  } finally {
    await client.close();
  }
  const near = await loadConfig({ path: kubelet, env: {} });
  expect(near.server).toBe(HUB);
  expect(await near.credentials.current()).toEqual(await config.credentials.current());
});

it('the NodePort proxy has a token with the permissions of kube-proxy, renewed at half of its lifetime', async () => {
  const file = join(directory, 'token');
  const clock = new VirtualClock(Date.now());
  await installRbac(admin, HUB_MANIFESTS, new AbortController().signal);
  const token = new ProxyToken(admin, file, () => {}, clock);
  await token.run();
  const { proxy } = await credentialsFor(server.url);
  const config = await loadConfig({ path: proxy, env: {} });
  expect(config.server).toBe(HUB);
  const client = new KubeClient({ ...config, server: server.url });
  try {
    expect((await client.list(SERVICES, {})).items).toHaveLength(1);
    await expect(client.list(PODS, {})).rejects.toThrow(
      'User "system:serviceaccount:kube-system:kube-proxy" cannot list resource "pods"',
    );
    const first = await readFile(file, 'utf8');
    await clock.advance(11 * 3_600_000);
    expect(await readFile(file, 'utf8')).toBe(first);
    await clock.advance(3_600_000 + 60_000);
    await expect.poll(() => readFile(file, 'utf8')).not.toBe(first);
  } finally {
    await client.close();
    await token.close();
  }
});

it('a certificate is reused while it is valid, and replaced when it is damaged', async () => {
  const certificateOf = async (file: string): Promise<string | undefined> =>
    (await (await loadConfig({ path: file, env: {} })).credentials.current()).cert;
  const { hub } = await credentialsFor(server.url);
  const text = await readFile(hub, 'utf8');
  const first = await certificateOf(hub);

  await credentialsFor('https://127.0.0.1:1');
  expect((await loadConfig({ path: hub, env: {} })).server).toBe('https://127.0.0.1:1');
  expect(await certificateOf(hub)).toBe(first);

  await writeFile(hub, text.slice(0, 100));
  await credentialsFor(server.url);
  expect(await certificateOf(hub)).not.toBe(first);

  await writeFile(hub, text.replace(/("client-certificate-data": ")[^"]+/, '$1eHh4'));
  await credentialsFor(server.url);
  expect(await readFile(hub, 'utf8')).not.toContain('eHh4"');
});
