/** `tidegate hub` as a user runs it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/cluster.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Tidegate } from '../support/tidegate.ts';

let server: Embedded;
let directory: string;
let taken: Server;
let port: number;
beforeAll(async () => {
  server = await startEmbedded();
  directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  ({ port } = taken.address() as { port: number });
});
afterAll(async () => {
  taken.close();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

const withoutAuthority = async (): Promise<string> => {
  const file = join(directory, 'without-authority');
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  };
  await writeFile(file, JSON.stringify(config));
  return file;
};

/** Starts a hub with random ports by default. */
const hub = (...args: string[]): Tidegate =>
  new Tidegate([
    'hub',
    ...['--node-name', 'shop-1', '--state', join(directory, 'state'), '--hub-address', '127.0.0.1'],
    ...['--http-port', '0', '--https-port', '0', '--admin-port', '0', '--log-level', 'error'],
    ...args,
  ]);

async function refusal(run: Tidegate): Promise<string> {
  expect((await run.exited).code).toBe(1);
  return run.stderr;
}

it('listens with and without an API server, prints its addresses, and stops properly', async () => {
  const run = hub('--kubeconfig', server.kubeconfig, '--server', 'https://127.0.0.1:1');
  const admin = await eventually('the hub prints its addresses', () => {
    if (!run.running) throw new Error(run.stderr);
    return /^Hub of node shop-1 listens on https:.*; admin at (http:.*)\.$/m.exec(run.stdout)?.[1];
  });
  expect(await (await fetch(`${admin}/v1/healthz`)).text()).toBe('ok\n');
  const upstreams = (await (await fetch(`${admin}/v1/upstreams`)).json()) as { url: string }[];
  expect(upstreams.map(({ url }) => url)).toEqual([server.url, 'https://127.0.0.1:1']);
  await run.kill('SIGTERM');
  expect(await run.exited).toEqual({ code: 0, signal: null });
  expect(run.stderr).toBe('');
});

describe('fails with one sentence', () => {
  it('without an API server', async () => {
    expect(await refusal(hub())).toBe(
      'tidegate: set --kubeconfig, or --bootstrap-kubeconfig for a new node\n',
    );
  });

  it('if the kubeconfig does not exist', async () => {
    expect(await refusal(hub('--kubeconfig', join(directory, 'none')))).toBe(
      `tidegate: ${join(directory, 'none')}: no such file\n`,
    );
  });

  it('without a CA for the client certificates of nodes', async () => {
    expect(await refusal(hub('--kubeconfig', await withoutAuthority()))).toBe(
      'tidegate: the kubeconfig has no certificate-authority, which the hub needs to verify client certificates of nodes; set --client-ca-file\n',
    );
  });

  it('with a serving certificate but no key', async () => {
    expect(await refusal(hub('--kubeconfig', server.kubeconfig, '--tls-cert-file', 'x'))).toBe(
      'tidegate: set both --tls-cert-file and --tls-private-key-file, or neither\n',
    );
  });

  it.each([
    ['--state', '/proc/hub'],
    ['--socket', '/proc/hub/hub.sock'],
  ])('if a directory cannot be created: %s', async (option, path) => {
    expect(await refusal(hub('--kubeconfig', server.kubeconfig, option, path))).toBe(
      `tidegate: cannot create the directory /proc/hub: ENOENT: no such file or directory, mkdir '/proc/hub'; choose another with ${option}\n`,
    );
  });

  it('for an unknown filter', async () => {
    expect(await refusal(hub('--kubeconfig', server.kubeconfig, '--disabled-resource-filters', 'x'))).toMatch(
      /^tidegate: cannot disable the unknown filter "x"; valid names: masterservice, .*\n$/,
    );
  });

  it.each(['--http-port', '--admin-port'])('if a port is in use: %s', async (option) => {
    const stderr = await refusal(hub('--kubeconfig', server.kubeconfig, option, String(port)));
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain(String(port));
    expect(stderr).toContain(option);
  });

  it.each([
    [['--server', 'api.example.com'], 'Use a URL that starts with https:// or http://.'],
    [['--hub-address', 'hub.example.com'], 'Use an IP address.'],
    [['--lb-mode', 'random'], 'Allowed choices are rr, priority.'],
  ])('for %j', async (args, message) => {
    expect(await refusal(hub(...args))).toContain(message);
  });
});
