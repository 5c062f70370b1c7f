/** `tidegate router` with its state and its access log on a file system that is filled and freed. */
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { ENDPOINT_SLICES, INGRESS_CLASSES, INGRESSES, NAMESPACES, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ingress, service, slice } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { Backend } from '../dataplane/support/backend.ts';
import { ask } from '../dataplane/support/client.ts';
import { eventually, Stop } from '../support/cluster.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { Tidegate } from '../support/tidegate.ts';

let cluster: EmbeddedWithKinds;
let backend: Backend;

beforeAll(async () => {
  cluster = await startEmbeddedWithKinds();
  backend = await Backend.start('web', { handle: (_, response) => void response.end('served') });
  const { client } = cluster;
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  await client.create(INGRESS_CLASSES, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'gold' },
    spec: { controller: 'tidegate.io/nginx' },
  });
  await client.create(SERVICES, service('web'));
  await client.create(ENDPOINT_SLICES, slice('web', { '127.0.0.1': {} }, { ports: { http: backend.port } }));
  await client.create(INGRESSES, ingress({ rules: { 'shop.example/': 'web:http' } }));
});
afterAll(async () => {
  await backend.stop();
  await cluster.stop();
});

describe.each(['embedded', 'nginx'])('a router with the data plane %s on a full disk', (dataPlane) => {
  const run = (directory: string): Tidegate => {
    const router = new Tidegate([
      'router',
      ...['--kubeconfig', cluster.kubeconfig, '--class', 'gold', '--data-plane', dataPlane],
      ...['--state', join(directory, 'state'), '--access-log', join(directory, 'access.log')],
      ...['--bind-address', '127.0.0.1', '--http-port', '0', '--https-port', '0', '--admin-port', '0'],
      ...['--shutdown-delay', '100ms'],
    ]);
    onTestFinished(() => router.kill('SIGKILL'));
    return router;
  };

  const listening = async (router: Tidegate): Promise<{ http: number; admin: string }> => {
    const [, http, admin = ''] = await eventually('the router prints its ports', () => {
      if (!router.running) throw new Stop(router.stderr);
      return /listens on http:.*:(\d+) and https:.*; admin at (http:.*)\.$/m.exec(router.stdout) ?? undefined;
    });
    return { http: Number(http), admin };
  };

  it('serves requests and new routes, reports it, and stores the routes when there is space', async () => {
    const disk = await smallDisk(16 << 20);
    const router = run(disk.directory);
    const { http, admin } = await listening(router);
    const bodyOf = async (host: string) => (await ask(http, host)).body;
    const readiness = async () => (await fetch(`${admin}/readyz`)).text();
    await expect.poll(() => bodyOf('shop.example')).toBe('served');

    disk.fill();
    // More than fits into the rest of a block.
    const paths = Array.from({ length: 200 }, (_, i) => [`late-${dataPlane}.example/path-${i}`, 'web:http']);
    await cluster.client.create(
      INGRESSES,
      ingress({ name: `late-${dataPlane}`, rules: Object.fromEntries(paths) }),
    );
    await expect.poll(() => bodyOf(`late-${dataPlane}.example/path-7`)).toBe('served');
    await expect
      .poll(readiness)
      .toMatch(/^ok\nwarning: no space left on the file system of .*requests are served/);
    for (let i = 0; i < 100; i++) expect(await bodyOf('shop.example')).toBe('served');

    disk.free();
    await expect.poll(readiness).toBe('ok');
    expect(await bodyOf('shop.example')).toBe('served');
    await router.kill('SIGTERM');
    expect(await router.exited).toEqual({ code: 0, signal: null });
  });

  it('restarts after a kill, and serves requests', async () => {
    const disk = await smallDisk(16 << 20);
    const first = run(disk.directory);
    const { http } = await listening(first);
    await expect.poll(async () => (await ask(http, 'shop.example')).body).toBe('served');
    // Its nginx lives on, and the next run ends it.
    first.signal('SIGKILL');
    await expect.poll(() => first.running).toBe(false);
    disk.fill();
    const again = run(disk.directory);
    const second = await listening(again);
    await expect.poll(async () => (await ask(second.http, 'shop.example')).body).toBe('served');
    disk.free();
    await again.kill('SIGTERM');
    expect(await again.exited).toEqual({ code: 0, signal: null });
  });

  it('fails to start for the first time with one sentence', async () => {
    const disk = await smallDisk();
    disk.fill();
    const router = run(disk.directory);
    const { code } = await router.exited;
    expect(code).toBe(1);
    expect(router.stderr.trim().split('\n').at(-1)).toMatch(
      /^tidegate: no space left on the file system of .*: free some space and try again$/,
    );
    expect(router.stderr).not.toMatch(/^ +at /m);
  });
});
