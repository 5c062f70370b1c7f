/** Processes that crash or hang, the commands to try it out, and what users read about it. */
import type { Pod } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EdgeApplication } from '../../packages/tidegate/src/api/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { findKubectl } from '../support/kubectl.ts';
import { finish, isRunning } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';
import { Tidegate } from '../support/tidegate.ts';

const LONG_MS = 300_000;
let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start('--nodes', '2');
}, LONG_MS);
afterAll(async () => cluster?.stop());

/** Waits for a line that `tidegate up` prints. */
const printed = (line: string): Promise<true> =>
  eventually(`tidegate up prints ${line}`, () => cluster.up.stdout.includes(line) || undefined, LONG_MS);

const processOf = async (name: string) => {
  const { processes } = await cluster.report();
  return processes.find((process) => process.name === name);
};

async function rejection(...args: string[]): Promise<string> {
  const [command = '', ...rest] = args;
  const run = new Tidegate([command, '--state', cluster.state, ...rest]);
  expect((await run.exited).code).toBe(1);
  return run.stderr;
}

describe('tidegate reboot', () => {
  it(
    'kills hub, agent and pods of a node, and its pods get new addresses',
    async () => {
      const web = { name: 'web', image: 'web:1', ports: [{ containerPort: 8080 }] };
      const nodeSelector = { 'kubernetes.io/hostname': 'node-2' };
      const metadata = { name: 'rebooted' };
      await cluster.kubectl.apply({
        ...{ apiVersion: 'v1', kind: 'Pod', metadata },
        spec: { nodeSelector, containers: [web] },
      });
      const pod = (): Promise<Pod> => cluster.kubectl.json<Pod>('get pod rebooted');
      await cluster.kubectl.run('wait --for=condition=Ready pod/rebooted --timeout=240s');
      const before = await pod();
      const container = await cluster.processOf(before);
      const parts = ['hub-node-2', 'node-2'];
      const pids = await Promise.all(parts.map((part) => cluster.pidOf(part)));
      expect(await cluster.tidegate('reboot', 'node-2')).toBe('Rebooted: node-2\n');
      expect(isRunning(container)).toBe(false);
      for (const part of parts) await printed(`${part} is running again`);
      const after = await eventually('the pod runs again', async () => {
        const { metadata, status } = await pod();
        const [main] = status?.containerStatuses ?? [];
        return main?.ready === true && main.restartCount === 1 && { metadata, status };
      });
      expect(after.metadata.uid).toBe(before.metadata.uid);
      expect(after.status?.podIP).not.toBe(before.status?.podIP);
      expect(await Promise.all(parts.map((part) => cluster.pidOf(part)))).not.toEqual(pids);
    },
    LONG_MS,
  );

  it('rejects a node that does not exist, and asks for one', async () => {
    expect(await rejection('reboot', 'paris')).toBe(
      'tidegate: "paris" matches no node; nodes: node-1, node-2\n',
    );
    expect(await rejection('reboot')).toBe(
      'tidegate: specify which nodes to reboot: node names, pools or label selectors\n',
    );
  });
});

describe('tidegate kill', () => {
  it.each([
    ['hub', ['node-1'], 'hub-node-1'],
    ['node', ['node-1'], 'node-1'],
    ['controllers', [], 'controllers'],
    ['apiserver', [], 'apiserver'],
  ])(
    'kills the component %s, which is restarted',
    async (component, names, process) => {
      const pid = await cluster.pidOf(process);
      expect(await cluster.tidegate('kill', component, ...names)).toBe(`Killed: ${process} (pid ${pid})\n`);
      const log = `${cluster.state}/logs/${process}.log`;
      await printed(`${process} exited: killed by SIGKILL; restarting in 0.2 s (log: ${log})`);
      await printed(`${process} is running again`);
      expect((await processOf(process))?.pid).not.toBe(pid);
    },
    LONG_MS,
  );

  it('rejects what it cannot kill', async () => {
    expect(await rejection('kill', 'hub')).toBe('tidegate: specify which hub: the name of a node or pool\n');
    expect(await rejection('kill', 'manager', 'x')).toBe(
      'tidegate: manager takes no name, because a cluster has only one\n',
    );
    expect(await rejection('kill', 'router', 'paris')).toBe(
      'tidegate: no router "paris": no node of the cluster runs a router\n',
    );
    expect(await rejection('kill', 'etcd')).toContain(
      'Allowed choices are hub, node, router, apiserver, controllers, manager.',
    );
  });
});

describe('a process that hangs', () => {
  it(
    'is reported as unresponsive, killed and restarted',
    async () => {
      const pid = await cluster.pidOf('apiserver');
      // A stopped process accepts connections and answers nothing, as one in an endless loop does.
      process.kill(pid, 'SIGSTOP');
      await printed('apiserver does not respond; it is restarted if that lasts for 30 s (log: ');
      expect(await processOf('apiserver')).toMatchObject({ state: 'unresponsive', pid });
      await printed('apiserver exited: it did not respond for 30 s and was killed; restarting in');
      await eventually('kubectl works again', () => cluster.kubectl.run('get nodes'), LONG_MS);
    },
    LONG_MS,
  );
});

describe('tidegate logs', () => {
  const lines = async (...args: string[]): Promise<Record<string, unknown>[]> =>
    (await cluster.tidegate('logs', ...args))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));

  it('prints JSON with the component, in the order of time', async () => {
    const all = await lines();
    const times = all.flatMap(({ time }) => time ?? []);
    expect(times).toEqual([...times].sort());
    expect(new Set(all.map(({ component }) => component)).size).toBeGreaterThan(1);
    const notes = (await lines('supervisor')).map(({ msg }) => msg);
    expect(notes).toContain('apiserver is running again');
    expect(await lines('supervisor', '--tail', '2')).toHaveLength(2);
    expect(await rejection('logs', 'etcd')).toMatch(/^tidegate: no log of "etcd"; logs: apiserver, /);
  });

  it(
    'follows logs of processes until it is stopped',
    async () => {
      const follow = new Tidegate(['logs', 'supervisor', '-f', '--tail', '0', '--state', cluster.state]);
      try {
        // The first line is written after the program has read what was there.
        await eventually(
          'a new line appears',
          async () => {
            await cluster.tidegate('cut', 'node-2');
            await cluster.tidegate('mend', 'node-2');
            return follow.stdout.includes('"link restored: node-2"') || undefined;
          },
          LONG_MS,
        );
      } finally {
        await follow.kill('SIGINT');
      }
    },
    LONG_MS,
  );
});

describe('other commands in this cluster', () => {
  it(
    'tidegate node --hollow --count 100 adds a hundred nodes',
    async () => {
      const kubeconfig = `${cluster.state}/kubeconfig`;
      const nodes = new Tidegate(['node', '--hollow', '--count', '100', '--kubeconfig', kubeconfig]);
      try {
        await eventually(
          'all are registered',
          async () => {
            const names = (await cluster.kubectl.run('get nodes -o name')).split('\n');
            return names.filter((name) => name.startsWith('node/hollow-')).length === 100 || undefined;
          },
          LONG_MS,
        );
        await eventually(
          'it says so',
          () =>
            nodes.stdout.startsWith('100 hollow nodes are registered: hollow-1 to hollow-100. ') || undefined,
        );
      } finally {
        await nodes.kill('SIGTERM');
      }
    },
    LONG_MS,
  );

  it('the manifests of the example are applied without a warning', async () => {
    const { stdout, stderr } = await finish(
      [findKubectl(), 'apply', '--server-side', '--validate=strict', '-f', repositoryFile('examples/story')],
      { env: { ...process.env, KUBECONFIG: `${cluster.state}/kubeconfig` } },
    );
    expect(stdout).toContain('edgeapplication.apps.kubeedge.io/nginx-app serverside-applied');
    expect(stderr).toBe('');
    const { manifestStatuses } = await eventually('all of its objects are applied', async () => {
      const { status } = await cluster.kubectl.json<EdgeApplication>('get edgeapplication nginx-app');
      return status?.manifestStatuses?.length === 3 ? status : undefined;
    });
    expect(JSON.stringify(manifestStatuses)).not.toContain('unknown field');
  });
});

describe('tidegate down', () => {
  it(
    'ends everything, also a process that hangs, and reports what it has seen end',
    async () => {
      const { processes } = await cluster.report();
      process.kill(await cluster.pidOf('controllers'), 'SIGSTOP');
      const output = await cluster.tidegate('down');
      expect(output).toContain('controllers did not stop in time and was killed\n');
      expect(output).toMatch(/\nStopped\.\n$/);
      expect(processes.filter(({ pid }) => isRunning(pid ?? 0)).map(({ name }) => name)).toEqual([]);
    },
    LONG_MS,
  );
});
