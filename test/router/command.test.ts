/** Runs `tidegate router`, `trace`, `get` and `describe` as a user does. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ENDPOINT_SLICES, INGRESS_CLASSES, INGRESSES, NAMESPACES, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INGRESS_CLASS_PARAMETERS } from '../../packages/tidegate/src/api/index.ts';
import { ingress, service, slice } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { Backend } from '../dataplane/support/backend.ts';
import { ask } from '../dataplane/support/client.ts';
import { eventually } from '../support/cluster.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { findKubectl } from '../support/kubectl.ts';
import { run } from '../support/process.ts';
import { Tidegate } from '../support/tidegate.ts';

const BIN = join(import.meta.dirname, '../../bin');
const HOST = 'shop.example';
let cluster: EmbeddedWithKinds;
let directory: string;
let backend: Backend;
/** Ends the response that is in progress. */
let finish: () => void = () => {};

beforeAll(async () => {
  cluster = await startEmbeddedWithKinds();
  directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  backend = await Backend.start('slow', {
    handle: (request, response) => {
      if (request.url !== '/slow') return void response.end('at once');
      response.write('begun, ');
      finish = () => response.end('ended');
    },
  });
  const { client } = cluster;
  const meta = (apiVersion: string, kind: string, name: string, namespace?: string) => ({
    apiVersion,
    kind,
    metadata: { name, namespace },
  });
  await client.create(NAMESPACES, meta('v1', 'Namespace', 'shop'));
  await client.create(NAMESPACES, meta('v1', 'Namespace', 'tidegate-system'));
  await client.create(INGRESS_CLASS_PARAMETERS, {
    ...meta('networking.tidegate.io/v1alpha1', 'IngressClassParameters', 'gold', 'tidegate-system'),
    parameters: { maxHosts: '20' },
  });
  await client.create(INGRESS_CLASSES, {
    ...meta('networking.k8s.io/v1', 'IngressClass', 'gold'),
    spec: {
      controller: 'tidegate.io/embedded',
      parameters: { apiGroup: 'networking.tidegate.io', kind: 'IngressClassParameters', name: 'gold' },
    },
  });
  await client.create(SERVICES, service('web'));
  await client.create(ENDPOINT_SLICES, slice('web', { '127.0.0.1': {} }, { ports: { http: backend.port } }));
  await client.create(INGRESSES, ingress({ rules: { [`${HOST}/`]: 'web:http' } }));
});
afterAll(async () => {
  await backend.stop();
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

const router = (...args: string[]): Tidegate =>
  new Tidegate([
    'router',
    ...[
      '--kubeconfig',
      cluster.kubeconfig,
      '--state',
      join(directory, 'router'),
      '--bind-address',
      '127.0.0.1',
    ],
    ...['--http-port', '0', '--https-port', '0', '--admin-port', '0', '--data-plane', 'embedded'],
    ...['--shutdown-delay', '100ms'],
    ...args,
  ]);

/** Waits until the router is ready and returns its ports. */
async function ready(run: Tidegate): Promise<{ http: number; admin: string }> {
  const [, http, admin = ''] = await eventually('the router prints its ports', () => {
    if (!run.running) throw new Error(run.stderr);
    return (
      /^Router of class gold listens on http:.*:(\d+) and https:.*; admin at (http:.*)\.$/m.exec(
        run.stdout,
      ) ?? undefined
    );
  });
  await expect.poll(async () => (await fetch(`${admin}/readyz`)).status).toBe(200);
  return { http: Number(http), admin };
}

describe('commands that read the cluster', () => {
  it('list and show classes, and trace requests', async () => {
    const outputOf = async (...args: string[]): Promise<string> => {
      const run = new Tidegate([...args, '--kubeconfig', cluster.kubeconfig]);
      expect(await run.exited).toEqual({ code: 0, signal: null });
      return run.stdout;
    };
    expect(await outputOf('get', 'ingressclass')).toBe('NAME   TYPE\ngold   tidegate.io/embedded\n');
    expect(await outputOf('describe', 'ingressclass', 'gold')).toMatch(/^Parameters: +maxHosts=20$/m);
    expect(await outputOf('trace', `http://${HOST}/x`)).toMatch(
      /^=> forwarded to the endpoint above, by Ingress shop\/web \(spec\.rules\[0\]\.http\.paths\[0\]\)$/m,
    );
  });

  it('trace requests of one namespace', async () => {
    const trace = async (...args: string[]) => {
      const run = new Tidegate(['trace', `http://${HOST}/x`, ...args, '--kubeconfig', cluster.kubeconfig]);
      await run.exited;
      return run.stdout + run.stderr;
    };
    expect(await trace('-n', 'shop')).toMatch(/^=> forwarded to the endpoint above, by Ingress shop\/web/m);
    expect(await trace('-n', 'tidegate-system')).toContain('no Ingress with a class found');
    const classes = new Tidegate(['get', 'ingressclass', '-n', 'shop', '--kubeconfig', cluster.kubeconfig]);
    expect(await classes.exited).toEqual({ code: 0, signal: null });
    expect(classes.stdout).toContain('gold');
  });

  it('are available as a kubectl plugin', async () => {
    const kubectl = findKubectl();
    const path = [BIN, dirname(process.execPath), process.env.PATH].join(delimiter);
    const env = { ...process.env, PATH: path, KUBECONFIG: cluster.kubeconfig };
    const plugin = (...args: string[]) => run([kubectl, 'tidegate', ...args], { env });
    expect(await plugin('get', 'ingressclass', 'gold')).toContain('gold   tidegate.io/embedded');
    expect(await plugin('trace', '--help')).toMatch(/^Usage: kubectl tidegate trace /);
  });
});

describe('tidegate router', () => {
  it('finishes open requests before it exits, and starts again without an API server', async () => {
    const first = router('--class', 'gold');
    const { http, admin } = await ready(first);
    const answer = ask(http, `${HOST}/slow`);
    await expect.poll(() => backend.requests).toBeGreaterThan(0);
    const ended = first.kill('SIGTERM');
    await expect.poll(async () => (await fetch(`${admin}/readyz`)).status).toBe(503);
    await expect.poll(() => ask(http, HOST).catch(() => 'refused')).toBe('refused');
    finish();
    expect(await answer).toMatchObject({ status: 200, body: 'begun, ended' });
    await ended;
    expect(await first.exited).toEqual({ code: 0, signal: null });

    const nowhere = join(directory, 'nowhere');
    const kubeconfig = await readFile(cluster.kubeconfig, 'utf8');
    await writeFile(nowhere, kubeconfig.replace(cluster.url, 'https://127.0.0.1:1'));
    const second = router('--class', 'gold', '--kubeconfig', nowhere, '--log-level', 'error');
    expect(await ask((await ready(second)).http, HOST)).toMatchObject({ status: 200, body: 'at once' });
    await second.kill('SIGTERM');
    expect(await second.exited).toEqual({ code: 0, signal: null });
  });

  it('reports each mistake in one sentence', async () => {
    const refusal = async (run: Tidegate): Promise<string> => {
      expect((await run.exited).code).toBe(1);
      return run.stderr;
    };
    expect(await refusal(router())).toBe(
      'tidegate: set --class, or --shared-pods for the pods of several L7Routers\n',
    );
    const port = String(backend.port);
    expect(await refusal(router('--class', 'gold', '--http-port', port))).toBe(
      `tidegate: port ${port} is already in use; choose another with --http-port (0 selects a free port)\n`,
    );
    const byNginx = await refusal(router('--class', 'gold', '--http-port', port, '--data-plane', 'nginx'));
    expect(byNginx.trimEnd().split('\n').at(-1)).toBe(
      `tidegate: port ${port} is already in use; choose another with --http-port (0 selects a free port)`,
    );
    expect(await refusal(router('--class', 'gold', '--bind-address', '192.0.2.1'))).toBe(
      'tidegate: 192.0.2.1 is not an address of this host; choose another with --bind-address\n',
    );
    expect(await refusal(router('--class', 'gold', '--state', '/proc/x'))).toMatch(
      /^tidegate: cannot create the directory \/proc\/x: .* choose another with --state\n$/,
    );
  });
});
