/** `tidegate up` and the commands for its cluster: what it survives, and what it prints. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClusterReport,
  callSupervisor,
  StateDirectory,
} from '../../packages/tidegate/src/supervisor/index.ts';
import { eventually } from '../support/cluster.ts';
import { Kubectl } from '../support/kubectl.ts';
import { isRunning } from '../support/process.ts';
import { Tidegate } from '../support/tidegate.ts';

let directory: string;
const started: Tidegate[] = [];
const newDirectory = async (): Promise<string> => mkdtemp(join(tmpdir(), 'tidegate-up-'));
const state = (): string => join(directory, 'state');

async function cleanUp(): Promise<void> {
  for (const process of started.splice(0)) if (process.running) await process.kill('SIGTERM');
  await rm(directory, { recursive: true, force: true });
}

/** Runs one command until it exits. */
async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const [command = '', ...rest] = args;
  const process = new Tidegate([command, '--state', state(), ...rest]);
  started.push(process);
  const { code } = await process.exited;
  return { code, stdout: process.stdout, stderr: process.stderr };
}

async function up(...args: string[]): Promise<Tidegate> {
  const process = new Tidegate(['up', '--state', state(), '--port', '0', ...args]);
  started.push(process);
  await eventually('tidegate up is ready', () => {
    if (!process.running) throw new Error(`tidegate up exited: ${process.stdout}${process.stderr}`);
    return /^(Ready|Started) in/m.test(process.stdout) || undefined;
  });
  return process;
}

/** What `tidegate status -o json` prints. */
const printedStatus = async (): Promise<ClusterReport> =>
  JSON.parse((await run('status', '-o', 'json')).stdout);
/** The same of a running cluster, without a process for it. */
async function status(): Promise<ClusterReport> {
  const answer = await callSupervisor(new StateDirectory(state()), { command: 'status' });
  if (answer === undefined) throw new Error(`no cluster is running in ${state()}`);
  return answer.result as ClusterReport;
}
const links = async (): Promise<string[]> =>
  (await status()).nodes.map(({ name, link }) => `${name} ${link}`);

async function pidOf(name: string): Promise<number> {
  const found = (await status()).processes.find((process) => process.name === name);
  if (found?.pid === undefined) throw new Error(`${name} is not running`);
  return found.pid;
}

/** The outcome of a connection attempt to a port of 127.0.0.1. */
const reach = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve('connected');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });

async function apiPortOf(node: string): Promise<number> {
  const cluster = JSON.parse(await readFile(join(state(), 'cluster.json'), 'utf8'));
  return cluster.nodes.find(({ name }: { name: string }) => name === node).apiPort;
}

const SITES = 'nodes: [{ name: east, labels: { site: e } }, { name: west, labels: { site: w } }]';

describe('a running cluster', () => {
  let cluster: Tidegate;
  beforeAll(async () => {
    directory = await newDirectory();
    await writeFile(join(directory, 'sites.yaml'), SITES);
    cluster = await up('-f', join(directory, 'sites.yaml'));
  });
  afterAll(cleanUp);

  it('prints its addresses and commands to try', async () => {
    expect(cluster.stdout).toContain(`export KUBECONFIG=${join(state(), 'kubeconfig')}`);
    expect(cluster.stdout).toMatch(/^east +True +127\.\d+\.0\.1 +up +\d+ +site=e$/m);
    expect(cluster.stdout).toContain(`down --state ${state()}`);
    expect(cluster.stderr).toBe('');
    const report = await printedStatus();
    expect(report).toMatchObject({ phase: 'running', api: { reachable: true } });
    expect(report.processes.map(({ name }) => name)).toEqual([
      'supervisor',
      'apiserver',
      'controllers',
      'manager',
      'hub-east',
      'east',
      'hub-west',
      'west',
    ]);
  });

  it('rejects a second up, with the pid of the first and the command to stop it', async () => {
    const { code, stderr } = await run('up');
    expect(code).toBe(1);
    expect(stderr.trim()).toBe(
      `tidegate: a cluster is already running in ${state()} (pid ${await pidOf('supervisor')}); stop it with \`bin/tidegate down --state ${state()}\`, or start another one with --state DIR`,
    );
  });

  it('cuts and mends links by label', async () => {
    const port = await apiPortOf('east');
    expect(await reach(port)).toBe('connected');
    expect((await run('cut', 'site=e')).stdout).toBe('Disconnected: east\n');
    expect(await reach(port)).toBe('ECONNREFUSED');
    expect(await links()).toEqual(['east cut', 'west up']);
    expect((await run('cut', 'east')).stdout).toBe('Nothing to do: the links are already cut.\n');
    expect((await run('mend', '--all')).stdout).toBe('Reconnected: east\n');
    expect(await reach(port)).toBe('connected');
    expect(await links()).toEqual(['east up', 'west up']);
  });

  it('cuts and mends links by NodeGroup and by NodePool', async () => {
    const kubectl = new Kubectl(join(state(), 'kubeconfig'));
    await kubectl.apply(
      {
        apiVersion: 'apps.kubeedge.io/v1alpha1',
        kind: 'NodeGroup',
        metadata: { name: 'sunrise' },
        spec: { matchLabels: { site: 'e' } },
      },
      { apiVersion: 'apps.openyurt.io/v1beta1', kind: 'NodePool', metadata: { name: 'sunset' } },
    );
    await kubectl.run('label node west apps.openyurt.io/desired-nodepool=sunset');
    for (const [pool, node] of [
      ['sunrise', 'east'],
      ['sunset', 'west'],
    ] as const) {
      await eventually(`${node} is in ${pool}`, async () => {
        const { nodes } = await status();
        return nodes.find(({ name, labels }) => name === node && Object.values(labels).includes(pool));
      });
      expect((await run('cut', pool)).stdout).toBe(`Disconnected: ${node}\n`);
      expect((await run('mend', pool)).stdout).toBe(`Reconnected: ${node}\n`);
    }
    await kubectl.run('label node west apps.openyurt.io/desired-nodepool-');
    await kubectl.run('delete nodegroup sunrise');
    await eventually('west has left its pool', async () => {
      const { nodes } = await status();
      return nodes.every(({ labels }) => !Object.values(labels).includes('sunset')) || undefined;
    });
    await kubectl.run('delete nodepool sunset');
  });

  it('rejects an unknown or missing target and lists the known ones', async () => {
    const unknown = await run('cut', 'paris');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toBe(
      'tidegate: "paris" matches no node; nodes: east, west; labels: site=e, site=w\n',
    );
    expect((await run('mend')).stderr).toBe(
      'tidegate: specify which nodes to mend: node names, pools or label selectors, or --all\n',
    );
    expect((await run('kill')).stderr).toBe(
      `tidegate: specify what to kill: hub, node, router, each with names; or apiserver, controllers, manager; for example \`bin/tidegate kill apiserver --state ${state()}\`\n`,
    );
  });

  it.each(['apiserver', 'controllers', 'manager', 'hub-east', 'east'])(
    'restarts %s after a kill',
    async (name) => {
      process.kill(await pidOf(name), 'SIGKILL');
      await eventually(
        `${name} is running again`,
        () => cluster.stdout.includes(` ${name} is running again`) || undefined,
      );
      expect(cluster.stdout).toContain(` ${name} exited: killed by SIGKILL; restarting in 0.2 s`);
      const report = await status();
      expect(report.api.reachable).toBe(true);
      expect(report.processes.find((process) => process.name === name)).toMatchObject({
        state: 'running',
        restarts: 1,
      });
    },
  );
});

describe('a second up', () => {
  beforeEach(async () => {
    directory = await newDirectory();
  });
  afterEach(cleanUp);

  it('keeps objects, addresses and cut links, and reports what a new layout changes', async () => {
    const first = await up('--nodes', 'a,b');
    const kubectl = new Kubectl(join(state(), 'kubeconfig'));
    await kubectl.run('create configmap kept');
    await run('cut', 'a');
    const before = await status();
    expect((await run('down')).stdout).toMatch(
      /^b stopped\n(.*\n)*hub-b stopped\n(.*\n)*apiserver stopped\nStopped\.\n$/m,
    );
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect((await printedStatus()).phase).toBe('stopped');

    const second = await up('--nodes', 'a,c');
    expect(second.stdout).toContain('nodes added: c');
    expect(second.stdout).toContain('nodes removed, with their pods: b');
    expect(second.stdout).toContain('Disconnected from the API server: a.');
    expect(await kubectl.run('get configmap kept -o name')).toBe('configmap/kept\n');
    expect(await kubectl.run('get nodes -o name')).not.toContain('node/b');
    const after = await status();
    expect(after.api.url).toBe(before.api.url);
    expect(await links()).toEqual(['a cut', 'c up']);
    expect(after.nodes.map(({ address }) => address)).toEqual(before.nodes.map(({ address }) => address));
  });

  it('resumes after the supervisor was killed, whose children have exited', async () => {
    const first = await up('--nodes', '1');
    const children = (await status()).processes.map(({ pid }) => pid ?? 0);
    await first.kill('SIGKILL');
    await up();
    await eventually(
      'the children of the first supervisor have exited',
      () => !children.some(isRunning) || undefined,
    );
    expect(await links()).toEqual(['node-1 up']);
  });

  it('Ctrl-C during the start stops what has started', async () => {
    const process = new Tidegate(['up', '--state', state(), '--port', '0']);
    started.push(process);
    await eventually('the API server runs', () => process.stdout.includes('API server') || undefined);
    await process.kill('SIGINT');
    expect(await process.exited).toEqual({ code: 0, signal: null });
    expect(process.stdout).toMatch(/apiserver stopped\nStopped\.\n$/);
    expect(process.stdout).not.toContain('Ready');
    expect(await readdir(state())).not.toContain('children.json');
  });

  it('fails with the last line of a child that cannot start', async () => {
    const pki = join(state(), 'apiserver', 'pki');
    await mkdir(pki, { recursive: true });
    await writeFile(join(pki, 'ca.crt'), '');
    const { code, stderr } = await run('up', '--port', '0');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^tidegate: apiserver failed to start: .*ca\.crt exists, but its key .* is missing: .* \(log: .*apiserver\.log\)\n$/,
    );
    expect((await printedStatus()).phase).toBe('stopped');
  });

  it('down --wipe removes only what tidegate created', async () => {
    await up('--empty');
    await writeFile(join(state(), 'images.yaml'), 'images: []');
    expect((await run('down', '--wipe')).stdout).toContain(
      `Removed ${state()}, except files that tidegate did not create: images.yaml.\n`,
    );
    expect(await readdir(state())).toEqual(['images.yaml']);
    const again = await run('down', '--wipe');
    expect(again.stdout).toBe(`No cluster is running in ${state()}.\n`);
    expect(again.stderr).toBe(
      `tidegate: ${state()} has no cluster.json, so it is not a tidegate state directory; nothing was removed\n`,
    );
  });
});

describe('up rejects with one sentence', () => {
  beforeEach(async () => {
    directory = await newDirectory();
  });
  afterEach(cleanUp);

  async function rejection(...args: string[]): Promise<string> {
    const { code, stderr } = await run('up', ...args);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    return stderr.trim();
  }

  it('a port that is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    try {
      expect(await rejection('--port', String(port))).toBe(
        `tidegate: port ${port} on 127.0.0.1 is already in use; choose another with --port (0 selects a free port)`,
      );
    } finally {
      other.close();
    }
  });

  it('a state directory that is a file', async () => {
    await writeFile(state(), '');
    expect(await rejection()).toBe(
      `tidegate: the state directory ${state()} is a file or is below a file; choose another with --state`,
    );
  });

  it('a directory that contains other files', async () => {
    await mkdir(state());
    await writeFile(join(state(), 'thesis.txt'), '');
    expect(await rejection()).toBe(
      `tidegate: ${state()} is not a tidegate state directory: it contains thesis.txt but no cluster.json; choose an empty or new directory with --state`,
    );
    expect(await readdir(state())).toEqual(['thesis.txt']);
  });

  it('a directory that cannot be created', async () => {
    expect(await rejection('--state', '/sys/tidegate')).toContain(
      'tidegate: cannot write to the state directory /sys/tidegate (',
    );
  });

  it('a path too long for a socket', async () => {
    expect(await rejection('--port', '0', '--state', join(directory, 'x'.repeat(100)))).toContain(
      'tidegate: the path of the state directory is too long: ',
    );
  });

  it.each(['{', '[]', '{"range":64,"port":"x","nodes":[]}'])('a damaged cluster.json: %s', async (text) => {
    await mkdir(state());
    await writeFile(join(state(), 'cluster.json'), text);
    expect(await rejection()).toMatch(
      /^tidegate: .*cluster\.json is damaged \(.*\): restore a good copy, or delete the cluster with/,
    );
    expect(await readFile(join(state(), 'cluster.json'), 'utf8')).toBe(text);
  });

  it('an invalid layout, naming file and field', async () => {
    const file = join(directory, 'sites.yaml');
    await writeFile(file, 'nodes: [{ name: a, labels: { size: 2 } }]');
    expect(await rejection('-f', file)).toBe(
      `tidegate: ${file}: nodes[0].labels.size must be a string; put the value in quotes`,
    );
    expect(await rejection('-f', join(directory, 'none.yaml'))).toContain(
      'tidegate: cannot read the layout file: ENOENT',
    );
  });

  it('an invalid or missing image table', async () => {
    const file = join(directory, 'images.yaml');
    await writeFile(file, 'images: [{ image: x }]');
    expect(await rejection('--images', file)).toBe(
      `tidegate: ${file}:1: images[0]: exactly one of these fields is required: command: [...], absent: true, standIn: true`,
    );
    expect(await rejection('--images', join(directory, 'none.yaml'))).toContain(
      'tidegate: cannot read the image table: ENOENT',
    );
    expect(await readdir(state())).not.toContain('cluster.json');
  });

  it('a cut without a cluster', async () => {
    const { code, stderr } = await run('cut', 'node-a');
    expect(code).toBe(1);
    expect(stderr).toBe(
      `tidegate: no cluster is running in ${state()}; start one with \`bin/tidegate up --state ${state()}\`\n`,
    );
    expect((await run('status')).stdout).toBe(
      `No cluster in ${state()}. Create one with \`bin/tidegate up --state ${state()}\`. For an installation on another cluster, use --kubeconfig, --context or --namespace.\n`,
    );
  });
});
