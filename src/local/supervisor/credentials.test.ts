import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KubeClient, loadConfig, NODES, silentLogger } from '../../kube/index.ts';
import { startApiServer } from '../apiserver/index.ts';
import { nodeCredentials } from './credentials.ts';

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let admin: KubeClient;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-credentials-'));
  server = await startApiServer({ directory, port: 0, logger: silentLogger, version: 'test' });
  server.writeAdminKubeconfig(join(directory, 'admin'));
  admin = new KubeClient(await loadConfig({ path: join(directory, 'admin'), env: {} }));
});
afterAll(async () => {
  await admin.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const credentialsFor = (url: string) =>
  nodeCredentials({
    client: admin,
    node: 'node-a',
    directory: join(directory, 'node-a'),
    server: url,
    signal: new AbortController().signal,
  });

it('a node is known to the API server as itself', async () => {
  const { kubelet, proxy } = await credentialsFor(server.url);
  expect((await stat(kubelet)).mode & 0o777).toBe(0o600);
  const config = await loadConfig({ path: kubelet, env: {} });
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
  const { cert = '' } = await (await loadConfig({ path: proxy, env: {} })).credentials.current();
  expect(new X509Certificate(cert).subject).toBe('CN=system:kube-proxy');
});

it('credentials are kept while they are good, and made anew for another server or when damaged', async () => {
  const { kubelet } = await credentialsFor(server.url);
  const first = await readFile(kubelet, 'utf8');
  await credentialsFor(server.url);
  expect(await readFile(kubelet, 'utf8')).toBe(first);

  await credentialsFor('https://127.0.0.1:1');
  const moved = await readFile(kubelet, 'utf8');
  expect(moved).toContain('https://127.0.0.1:1');

  await writeFile(kubelet, moved.slice(0, 100));
  await credentialsFor(server.url);
  expect((await loadConfig({ path: kubelet, env: {} })).server).toBe(server.url);

  await writeFile(kubelet, first.replace(/("client-certificate-data": ")[^"]+/, '$1eHh4'));
  await credentialsFor(server.url);
  expect(await readFile(kubelet, 'utf8')).not.toContain('eHh4"');
});
