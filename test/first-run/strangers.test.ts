/** Clusters on a machine whose ports are in use by other programs, and two clusters at the same time. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import { DEFAULT_PORTS } from '../../packages/tidegate/src/supervisor/ports.ts';
import { eventually, Stop } from '../support/cluster.ts';
import { Network } from '../support/network.ts';
import { PROGRAM } from '../support/repository.ts';
import { Tidegate } from '../support/tidegate.ts';

let directory: string;
const started: Tidegate[] = [];
const networks: Network[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate first run '));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((process) => process.running && process.kill('SIGTERM')));
  await Promise.all(networks.splice(0).map((each) => each.close()));
  await rm(directory, { recursive: true, force: true });
});

async function up(state: string, where: Network | undefined, ...args: string[]): Promise<Tidegate> {
  const program = [process.execPath, PROGRAM];
  const tidegate = new Tidegate(['up', '--state', state, ...args], where?.command(...program) ?? program);
  started.push(tidegate);
  await eventually(
    'tidegate up is ready',
    () => {
      if (!tidegate.running) throw new Stop(`tidegate up exited: ${tidegate.stdout}${tidegate.stderr}`);
      return /^(Ready|Started) in/m.test(tidegate.stdout) || undefined;
    },
    600_000,
  );
  return tidegate;
}

async function network(...addresses: string[]): Promise<Network> {
  const opened = await Network.open(...addresses);
  networks.push(opened);
  return opened;
}

async function status(state: string): Promise<ClusterReport> {
  const run = new Tidegate(['status', '-o', 'json', '--state', state]);
  await run.exited;
  return JSON.parse(run.stdout) as ClusterReport;
}

/** The usual ports that clusters have on a machine of their own, and what they use if those are in use. */
const USUAL = Object.values(DEFAULT_PORTS);
const OTHERS = USUAL.map((port) => port + 10_000);

describe('a machine on which other programs listen on the usual ports, on all addresses', () => {
  it('runs the example on other ports, also when it resumes, and says so', async () => {
    const state = join(directory, 'state');
    await mkdir(state, { mode: 0o755 });
    const first = await network(...[6443, ...USUAL].map((port) => `0.0.0.0:${port}`));
    const running = await up(state, first);
    const { stdout } = running;
    expect(stdout).toContain('port 6443 on 127.0.0.1 is already in use; the API server uses ');
    for (const port of USUAL)
      expect(stdout).toContain(`port ${port} is in use by another program on this machine; `);
    expect(stdout).toContain('the pods of the example use 18080 instead');
    // The directory existed with mode 755.
    expect(stdout).toContain(`other users could enter the state directory '${state}' (mode 755)`);
    expect(stdout).toContain(`export KUBECONFIG='${join(state, 'kubeconfig')}'`);
    await expectServed(state, first);

    // This cluster also has routers, so that one of them can crash here.
    const kill = new Tidegate(['kill', 'router', 'hangzhou', '--state', state]);
    expect((await kill.exited).code).toBe(0);
    const line = /router hangzhou exited: killed by SIGKILL; node-[ab] restarts it \(log: '(.*)'\)/;
    const [, log = ''] = await eventually(
      'the crash is reported',
      () => line.exec(running.stdout) ?? undefined,
    );
    expect(await readFile(log, 'utf8')).toBeTypeOf('string');
    await running.kill('SIGTERM');

    const second = await network(...OTHERS.map((port, i) => `${i % 2 === 0 ? '0.0.0.0' : '::'}:${port}`));
    const resumed = await up(state, second);
    for (const port of OTHERS)
      expect(resumed.stdout).toContain(`port ${port} is in use by another program on this machine; `);
    expect(resumed.stdout).toContain('the pods of the example use 28080 instead');
    expect(resumed.stdout).toMatch(/^Ready in/m);
    // No pod was started on a port that it could not get.
    expect(resumed.stdout).not.toContain('--http-port');
    await expectServed(state, second);
    // The nodes may still be removing what they have of the old pods.
    await expect.poll(() => restartsIn(state)).toEqual(Array(7).fill(0));
  }, 660_000);
});

/** The restarts of all containers, as their nodes recorded them. */
async function restartsIn(state: string): Promise<number[]> {
  const files = await readdir(join(state, 'nodes'), { recursive: true });
  const records = files.filter((name) => basename(name) === 'pod.json');
  const pods = await Promise.all(records.map((name) => readFile(join(state, 'nodes', name), 'utf8')));
  return pods
    .map((text) => JSON.parse(text) as { containers: Record<string, { restartCount: number }> })
    .flatMap(({ containers }) => Object.values(containers).map(({ restartCount }) => restartCount));
}

async function expectServed(state: string, where: Network): Promise<void> {
  const { frontDoors, nodes } = await status(state);
  expect(nodes.map(({ ready }) => ready)).toEqual(Array(5).fill('True'));
  expect(frontDoors.map(({ name }) => name).sort()).toEqual(['beijing', 'hangzhou']);
  for (const { name, urls, routers, answers, sample } of frontDoors) {
    expect(routers).toMatchObject([{ responding: true }]);
    expect(answers).toEqual(urls.map((url) => ({ url, from: 'router' })));
    expect(sample).toEqual({ host: 'www.example.com', status: 200 });
    const { pool } = JSON.parse(await where.get(`${urls[0]}/`, 'www.example.com')) as { pool: string };
    expect(pool).toBe(name);
  }
}

describe('two clusters at the same time', () => {
  it('have their own ports and addresses, also if they were created with the same', async () => {
    const [first, second] = [join(directory, 'first'), join(directory, 'second')];
    await up(first, undefined, '--nodes', '1');
    await up(second, undefined, '--nodes', '1');
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
    const { stdout } = await up(second, undefined);
    expect(stdout).toContain(
      `another cluster uses the addresses 127.${range}.0.0/16; nodes and pods get addresses from `,
    );
    expect(stdout).toContain(`port ${port} on 127.0.0.1 is already in use; the API server uses `);
    expect(new Set(await addresses()).size).toBe(4);
    const [before, after] = await Promise.all([first, second].map(status));
    expect([before?.nodes[0]?.ready, after?.nodes[0]?.ready]).toEqual(['True', 'True']);
  }, 660_000);
});
