import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTicksOf } from '@tidegate/envtest/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestProcess } from '../../../../test/support/process.ts';
import type { NodeLayout } from './layout.ts';
import { logFiles } from './log-files.ts';
import { DEFAULT_PORTS } from './ports.ts';
import { crashRouter, podsOfRouter } from './router-pods.ts';
import { StateDirectory, writeCluster } from './state.ts';

let state: StateDirectory;
let child: TestProcess;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-routers-')));
  child = new TestProcess(['sleep', '1000']);
  const node = { labels: {}, apiPort: 0, cut: false };
  const nodes = [
    { ...node, name: 'node-a', number: 1 },
    { ...node, name: 'node-b', number: 2 },
  ];
  writeCluster(state, { range: 64, port: 6443, ports: DEFAULT_PORTS, nodes });
});
afterEach(async () => {
  await child.kill('SIGKILL');
  await rm(state.path, { recursive: true });
});

/** A pod as a node agent records it. */
async function record(
  node: string,
  name: string,
  startTicks: string | undefined,
  container = 'router',
): Promise<string> {
  const directory = join(state.node(node), 'pods', `uid-of-${name}`);
  const logs = join(directory, 'containers', container, 'logs');
  await mkdir(logs, { recursive: true });
  for (const run of [0, 9, 10]) await writeFile(join(logs, `${run}.log`), '');
  const process = { pid: child.pid, startTicks };
  const containers = { [container]: { state: startTicks === undefined ? {} : { process } } };
  await writeFile(join(directory, 'pod.json'), JSON.stringify({ namespace: 'ingress', name, containers }));
  return logs;
}

const ticks = (): string => startTicksOf(child.pid) ?? '';

describe('the pods of a router', () => {
  it('are those of its Deployment', async () => {
    const logs = await record('node-a', 'tidegate-router-paris-abcde12345-x1y2z', ticks());
    await record('node-b', 'tidegate-router-paris-2-abcde12345-x1y2z', undefined);
    await record('node-b', 'web-abcde12345-x1y2z', ticks(), 'main');
    const pod = 'ingress/tidegate-router-paris-abcde12345-x1y2z';
    expect(podsOfRouter(state, 'paris')).toEqual([
      {
        pod,
        node: 'node-a',
        pid: child.pid,
        logs: ['0.log', '9.log', '10.log'].map((file) => join(logs, file)),
      },
    ]);
    expect(podsOfRouter(state, 'paris-2')).toMatchObject([{ node: 'node-b' }]);
    expect(() => podsOfRouter(state, 'rome')).toThrow('no router "rome"; routers: paris, paris-2');
  });

  it('are killed by their recorded process', async () => {
    await record('node-a', 'tidegate-router-paris-abcde12345-x1y2z', ticks());
    expect(crashRouter(state, 'paris')).toEqual([
      `router paris (pod ingress/tidegate-router-paris-abcde12345-x1y2z on node-a, pid ${child.pid})`,
    ]);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('are not killed if their pid belongs to another process now', async () => {
    await record('node-a', 'tidegate-router-paris-abcde12345-x1y2z', '1');
    expect(() => crashRouter(state, 'paris')).toThrow('router paris does not run');
    expect(child.running).toBe(true);
  });
});

describe('logs', () => {
  const nodes: NodeLayout[] = [
    { name: 'node-a', labels: { 'apps.openyurt.io/nodepool': 'rome' } },
    { name: 'node-b', labels: {} },
  ];
  const componentsOf = (component?: string, ...names: string[]): string[] =>
    logFiles(state, component, names, nodes).map(({ component }) => component);

  it('are found by component and name, and by process', async () => {
    await mkdir(state.logs);
    for (const name of ['apiserver', 'hub-node-a', 'hub-node-b', 'node-a', 'supervisor'])
      await writeFile(join(state.logs, `${name}.log`), '');
    await writeFile(join(state.logs, 'node-a.log.1'), '');
    const logs = await record('node-a', 'tidegate-router-paris-abcde12345-x1y2z', undefined);
    expect(componentsOf('apiserver')).toEqual(['apiserver']);
    expect(componentsOf('supervisor')).toEqual(['supervisor']);
    expect(componentsOf('hub', 'node-b', 'node-a')).toEqual(['hub-node-a', 'hub-node-b']);
    expect(componentsOf('hub', 'rome')).toEqual(['hub-node-a']);
    expect(componentsOf('node', 'node-a')).toEqual(['node-a']);
    expect(componentsOf('hub-node-b')).toEqual(['hub-node-b']);
    const component = 'tidegate-router-paris-abcde12345-x1y2z';
    const ofRouter = ['0.log', '9.log', '10.log'].map((name) => ({ component, file: join(logs, name) }));
    expect(logFiles(state, 'router', ['paris'], nodes)).toEqual(ofRouter);
    expect(componentsOf()).toHaveLength(5 + ofRouter.length);
  });

  it('are those of all hubs, nodes or routers without a name', async () => {
    await mkdir(state.logs);
    for (const name of ['hub-node-a', 'hub-node-b', 'node-b'])
      await writeFile(join(state.logs, `${name}.log`), '');
    await record('node-a', 'tidegate-router-paris-abcde12345-x1y2z', undefined);
    expect(componentsOf('hub')).toEqual(['hub-node-a', 'hub-node-b']);
    expect(componentsOf('node')).toEqual(['node-b']);
    expect(new Set(componentsOf('router'))).toEqual(new Set(['tidegate-router-paris-abcde12345-x1y2z']));
  });

  it('of unknown components are rejected, with a list of the known ones', async () => {
    await mkdir(state.logs);
    await writeFile(join(state.logs, 'apiserver.log'), '');
    expect(() => componentsOf('etcd')).toThrow('no log of "etcd"; logs: apiserver, and router NAME');
    expect(() => componentsOf('manager', 'x')).toThrow('manager takes no name');
    expect(() => componentsOf('node', 'paris')).toThrow('"paris" matches no node');
  });
});
