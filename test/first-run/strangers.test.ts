/** Clusters on a machine whose ports are in use by other programs, and two clusters at the same time. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import { DEFAULT_PORTS } from '../../packages/tidegate/src/supervisor/ports.ts';
import { holdRange } from '../../packages/tidegate/src/supervisor/range.ts';
import { ask } from '../story/callers.ts';
import { eventually, Stop } from '../support/cluster.ts';
import { Tidegate } from '../support/tidegate.ts';

let directory: string;
const started: Tidegate[] = [];
const strangers: Server[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate first run '));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((process) => process.running && process.kill('SIGTERM')));
  for (const server of strangers.splice(0)) server.close();
  await rm(directory, { recursive: true, force: true });
});

async function up(state: string, ...args: string[]): Promise<Tidegate> {
  const process = new Tidegate(['up', '--state', state, ...args]);
  started.push(process);
  await eventually(
    'tidegate up is ready',
    () => {
      if (!process.running) throw new Stop(`tidegate up exited: ${process.stdout}${process.stderr}`);
      return /^(Ready|Started) in/m.test(process.stdout) || undefined;
    },
    600_000,
  );
  return process;
}

async function status(state: string): Promise<ClusterReport> {
  const run = new Tidegate(['status', '-o', 'json', '--state', state]);
  await run.exited;
  return JSON.parse(run.stdout) as ClusterReport;
}

/** Another program that answers every request. An address that is in use already has a stranger. */
async function stranger(host: string, port: number): Promise<void> {
  const server = createServer((_, response) => response.end('stranger'));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve() : reject(error),
    );
    server.listen(port, host, resolve);
  });
  if (server.listening) strangers.push(server);
}

const NODES = ['a', 'b', 'c', 'd', 'e'].map((name, i) => ({
  name: `node-${name}`,
  labels: { location: i < 2 ? 'hangzhou' : 'beijing' },
  number: i + 1,
  apiPort: 0,
  cut: false,
}));

/** The addresses of nodes and first pods. A program on all addresses of the machine would have the ports of all. */
const addressesIn = (range: number): string[] => [
  ...NODES.map(({ number }) => `127.${range}.0.${number}`),
  ...NODES.flatMap(({ number }) => Array.from({ length: 8 }, (_, i) => `127.${range}.${number}.${i + 2}`)),
  `127.${range}.255.254`,
];

describe('a machine on which other programs have the usual ports', () => {
  it('runs the example on other ports, and says so', async () => {
    const { range, release } = await holdRange();
    await release();
    const state = join(directory, 'state');
    await mkdir(state, { mode: 0o755 });
    const ports = Object.values(DEFAULT_PORTS);
    for (const host of addressesIn(range)) for (const port of ports) await stranger(host, port);
    await stranger('127.0.0.1', 6443);
    const cluster = { range, port: 6443, awaitsStory: true, nodes: NODES };
    await writeFile(join(state, 'cluster.json'), JSON.stringify(cluster));

    const running = await up(state);
    const { stdout } = running;
    expect(stdout).toContain('port 6443 on 127.0.0.1 is already in use; the API server uses ');
    for (const port of ports)
      expect(stdout).toContain(`port ${port} is in use by another program on this machine; `);
    expect(stdout).toContain('the pods of the example use 18080 instead');
    // The directory existed with mode 755.
    expect(stdout).toContain(`other users could enter the state directory '${state}' (mode 755)`);
    expect(stdout).toContain(`export KUBECONFIG='${join(state, 'kubeconfig')}'`);

    const { frontDoors, nodes } = await status(state);
    expect(nodes.map(({ ready }) => ready)).toEqual(NODES.map(() => 'True'));
    for (const { name, urls, routers, answers } of frontDoors) {
      expect(routers).toMatchObject([{ responding: true }]);
      expect(answers).toEqual([{ url: urls[0], from: 'router' }]);
      expect(await ask(`${urls[0]}/`, { host: 'www.example.com' })).toMatchObject({ pool: name });
    }

    // This cluster also has routers, so that one of them can crash here.
    const kill = new Tidegate(['kill', 'router', 'hangzhou', '--state', state]);
    expect((await kill.exited).code).toBe(0);
    const line = /router hangzhou exited: killed by SIGKILL; node-[ab] restarts it \(log: '(.*)'\)/;
    const [, log = ''] = await eventually(
      'the crash is reported',
      () => line.exec(running.stdout) ?? undefined,
    );
    expect(await readFile(log, 'utf8')).toBeTypeOf('string');
  }, 660_000);
});

describe('two clusters at the same time', () => {
  it('have their own ports and addresses, also if they were created with the same', async () => {
    const [first, second] = [join(directory, 'first'), join(directory, 'second')];
    await up(first, '--nodes', '1');
    await up(second, '--nodes', '1');
    const addresses = async (): Promise<string[]> =>
      (await Promise.all([first, second].map(status))).flatMap(({ nodes, api }) => [
        ...nodes.map(({ address }) => address),
        api.url,
      ]);
    expect(new Set(await addresses()).size).toBe(4);

    await started[1]!.kill('SIGTERM');
    const file = join(second, 'cluster.json');
    const { range, port } = JSON.parse(await readFile(join(first, 'cluster.json'), 'utf8'));
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), range, port }));
    const { stdout } = await up(second);
    expect(stdout).toContain(
      `another cluster uses the addresses 127.${range}.0.0/16; nodes and pods get addresses from `,
    );
    expect(stdout).toContain(`port ${port} on 127.0.0.1 is already in use; the API server uses `);
    expect(new Set(await addresses()).size).toBe(4);
    const [before, after] = await Promise.all([first, second].map(status));
    expect([before?.nodes[0]?.ready, after?.nodes[0]?.ready]).toEqual(['True', 'True']);
  }, 660_000);
});
