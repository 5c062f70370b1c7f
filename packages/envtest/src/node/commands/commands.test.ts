/** Containers that run their own commands, on a node with a real API server. */
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  type KubeObject,
  NODES,
  PODS,
  type Pod,
  type Resource,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../../../../test/support/process.ts';
import { type Agent, startAgent } from '../index.ts';
import { named, startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { eventually } from '../testing/eventually.ts';
import { machineFiles } from './machine-files.ts';
import { planMounts } from './mount-plan.ts';
import { runInside } from './run-inside.ts';
import { createEntries, Sandbox } from './sandbox.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
type PodEvent = KubeObject & { reason?: string; involvedObject?: { name?: string } };

const NODE = 'node-a';
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const ADDRESS = `${RANGE}.1`;

let cluster: TestCluster;
let agent: Agent;

beforeAll(async () => {
  cluster = await startTestCluster();
  agent = await startAgent({
    name: NODE,
    client: await cluster.node(NODE),
    proxyClient: cluster.admin,
    address: ADDRESS,
    listenPort: 10250,
    advertisePort: 10250,
    labels: {},
    stateDirectory: join(cluster.directory, NODE),
    program: [],
    path: process.env.PATH ?? '',
    runCommands: true,
    kubernetesVersion: 'v1.36.4',
    version: 'test',
    log: silentLogger,
  });
  await cluster.admin.patch(NODES, { name: NODE }, 'merge', { spec: { podCIDR: `${RANGE}.0/24` } });
});

afterEach(async () => {
  const { items } = await cluster.admin.list(PODS, { namespace: 'default' });
  const remove = ({ metadata }: Pod) =>
    cluster.admin.delete(PODS, { namespace: 'default', name: metadata.name! }, { gracePeriodSeconds: 1 });
  await Promise.all(items.map(remove));
  await eventually(async () => {
    expect((await cluster.admin.list(PODS, { namespace: 'default' })).items).toEqual([]);
  });
});

afterAll(async () => {
  await agent.close();
  await cluster.stop();
});

type Spec = NonNullable<Pod['spec']>;

async function create(name: string, spec: Spec): Promise<void> {
  await cluster.admin.create<Pod>(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'shop' } },
    spec: { nodeName: NODE, automountServiceAccountToken: false, ...spec },
  });
}

const sh = (script: string): { image: string; command: string[] } => ({
  image: 'busybox',
  command: ['sh', '-c', script],
});

async function when(name: string, ready: (pod: Pod) => boolean): Promise<Pod> {
  let found: Pod | undefined;
  await eventually(async () => {
    found = await cluster.admin.get(PODS, { namespace: 'default', name });
    if (!ready(found)) throw new Error(JSON.stringify(found.status));
  });
  return found!;
}

const isOver = ({ status }: Pod): boolean => ['Succeeded', 'Failed'].includes(status?.phase ?? '');
const endOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.terminated;

/** The output of the latest attempt. */
async function logs({ metadata, status }: Pod): Promise<string> {
  const { restartCount = 0 } = status?.containerStatuses?.[0] ?? {};
  const directory = join(cluster.directory, NODE, 'pods', metadata.uid!, 'containers', 'main', 'logs');
  return readFile(join(directory, `${restartCount}.log`), 'utf8');
}

describe('a command', () => {
  test('runs with its arguments, environment and working directory, and its exit code is reported', async () => {
    await create('job', {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          image: 'busybox',
          command: ['sh', '-c', 'echo "$0 $GREETING $NAME $PWD"; echo why > /dev/termination-log; exit 3'],
          args: ['$(GREETING)-$$(NAME)'],
          workingDir: '/srv/work',
          env: [
            { name: 'GREETING', value: 'hello' },
            { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
        },
      ],
    });
    const pod = await when('job', isOver);
    expect(pod.status?.phase).toBe('Failed');
    expect(endOf(pod)).toMatchObject({ exitCode: 3, reason: 'Error', message: 'why\n' });
    expect(await logs(pod)).toBe('hello-$(NAME) hello job /srv/work\n');
  });

  test('sees its volumes at their paths and cannot change the machine', async () => {
    await cluster.admin.create(CONFIG_MAPS, named('ConfigMap', 'settings', { data: { color: 'blue' } }));
    const script = [
      'cat /etc/settings/color; echo',
      'echo one > /etc/settings/color || echo refused',
      'touch /usr/tidegate-test || echo refused',
      'echo data > /data/file && cat /data/file',
      'echo own > /tmp/own && cat /tmp/own && ls /tmp',
      'cat /etc/labels/labels; echo',
      'test -r /etc/passwd && echo readable',
    ].join('; ');
    await create('volumes', {
      restartPolicy: 'Never',
      volumes: [
        { name: 'settings', configMap: { name: 'settings' } },
        { name: 'data', emptyDir: {} },
        {
          name: 'labels',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
        },
      ],
      containers: [
        {
          name: 'main',
          ...sh(`(${script}) 2>/dev/null`),
          volumeMounts: [
            { name: 'settings', mountPath: '/etc/settings' },
            { name: 'data', mountPath: '/data' },
            { name: 'labels', mountPath: '/etc/labels' },
          ],
        },
      ],
    });
    const pod = await when('volumes', isOver);
    expect(await logs(pod)).toBe('blue\nrefused\nrefused\ndata\nown\nown\napp="shop"\nreadable\n');
    expect(endOf(pod)).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  test('starts after the init containers, beside sidecars, which end last', async () => {
    const mounts = [{ name: 'shared', mountPath: '/shared' }];
    await create('order', {
      restartPolicy: 'Never',
      volumes: [{ name: 'shared', emptyDir: {} }],
      initContainers: [
        { name: 'first', ...sh('echo first >> /shared/log'), volumeMounts: mounts },
        {
          name: 'side',
          restartPolicy: 'Always',
          ...sh(
            'echo side >> /shared/log; trap "echo bye >> /shared/log; exit 0" TERM; while :; do sleep 0.1; done',
          ),
          startupProbe: {
            exec: { command: ['grep', 'side', '/shared/log'] },
            periodSeconds: 1,
            timeoutSeconds: 60,
          },
          volumeMounts: mounts,
        },
      ],
      containers: [{ name: 'main', ...sh('cat /shared/log'), volumeMounts: mounts }],
    });
    const pod = await when('order', isOver);
    expect(pod.status?.phase).toBe('Succeeded');
    expect(await logs(pod)).toBe('first\nside\n');
    const ended = await when(
      'order',
      ({ status }) =>
        status?.initContainerStatuses?.every(({ state }) => state?.terminated?.exitCode === 0) ?? false,
    );
    expect(ended.status?.initContainerStatuses?.map(({ name }) => name)).toEqual(['first', 'side']);
  });

  test('is ready according to its exec probe, and runs its hooks', async () => {
    await create('probed', {
      volumes: [{ name: 'shared', emptyDir: {} }],
      terminationGracePeriodSeconds: 60,
      containers: [
        {
          name: 'main',
          ...sh('trap "exit 0" TERM; while :; do sleep 0.1; done'),
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
          lifecycle: { postStart: { exec: { command: ['touch', '/shared/started'] } } },
          readinessProbe: {
            exec: { command: ['test', '-e', '/shared/started'] },
            periodSeconds: 1,
            timeoutSeconds: 60,
          },
        },
      ],
    });
    const pod = await when('probed', ({ status }) => status?.containerStatuses?.[0]?.ready === true);
    expect(pod.status?.phase).toBe('Running');
  });

  test('ends with all processes it has started', async () => {
    const mark = `tidegate-${randomInt(1e9)}`;
    await create('family', {
      restartPolicy: 'Never',
      containers: [{ name: 'main', ...sh(`setsid sh -c 'sleep 1000 # ${mark}' & sleep 0.2`) }],
    });
    await when('family', isOver);
    await eventually(async () => {
      const stdout = await run(['ps', '-eo', 'args']);
      expect(stdout.split('\n').filter((line) => line.includes(mark))).toEqual([]);
    });
  });

  test('is restarted, and the log of the previous attempt is kept', async () => {
    await create('again', {
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'shared', emptyDir: {} }],
      containers: [
        {
          name: 'main',
          ...sh('test -e /shared/x && echo second && exit 0; touch /shared/x /leftover; echo first; exit 1'),
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
        },
      ],
    });
    const pod = await when('again', isOver);
    expect(pod.status?.phase).toBe('Succeeded');
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 1 } },
    });
    expect(await logs(pod)).toBe('second\n');
  });
});

test.each([
  ['an absolute path', '/no/such', 'stat /no/such: no such file or directory'],
  ['a name', 'no-such', 'executable file not found in $PATH'],
  ['a directory', '/usr', 'is a directory'],
  ['a file', '/etc/passwd', 'permission denied'],
])(
  'a command that cannot be started, %s, ends with a StartError and without a start',
  async (kind, program, why) => {
    const name = `not-started-${kind.replaceAll(' ', '-')}`;
    const main = { name: 'main', image: 'busybox', command: [program, 'argument'] };
    await create(name, { restartPolicy: 'Never', containers: [main] });
    const pod = await when(name, isOver);
    expect(pod.status?.phase).toBe('Failed');
    expect(endOf(pod)).toMatchObject({
      exitCode: 128,
      reason: 'StartError',
      message: `unable to start container process: exec: "${program}": ${why}`,
      startedAt: '1970-01-01T00:00:00Z',
    });
    const reasons = await eventually(async () => {
      const { items } = await cluster.admin.list(EVENTS, { namespace: 'default' });
      const own = items.filter((event) => (event as PodEvent).involvedObject?.name === name);
      const found = own.map((event) => (event as PodEvent).reason);
      expect(found).toContain('Failed');
      return found;
    });
    expect(reasons).not.toContain('Started');
  },
);

test('a command that runs beside it, and does not exist, is explained in the same words', async () => {
  const sandbox = await Sandbox.open(process.env.PATH ?? '');
  if (!(sandbox instanceof Sandbox)) throw new Error(sandbox.unavailable);
  const root = await mkdtemp(join(tmpdir(), 'tidegate-root-'));
  const { entries, binds } = planMounts(machineFiles, [], []);
  await createEntries(root, entries);
  const inside = {
    run: (command: string[]) => ({
      command: sandbox.wrap({ root, binds, directory: '/', command }),
      env: { PATH: process.env.PATH ?? '' },
      cwd: root,
    }),
  };
  const ran = await runInside(inside, ['/no/such'], { timeoutMs: 60_000 });
  expect(ran).toEqual({
    code: 127,
    output: 'unable to start container process: exec: "/no/such": stat /no/such: no such file or directory\n',
    timedOut: false,
  });
});

test('a Job without a command waits, and the reason says what to do', async () => {
  await create('unknown', { restartPolicy: 'Never', containers: [{ name: 'main', image: 'perl:5' }] });
  const pod = await when(
    'unknown',
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerError',
  );
  expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe(
    'the command of image "perl:5" is unknown, because this machine has no container images; set the command of container main, or map the image in images.yaml',
  );
});

test('a server of the machine is reachable from a command', async () => {
  const server = createServer((_request, response) => response.end('hi\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const script = `fetch('http://127.0.0.1:${port}').then(r => r.text()).then(t => process.stdout.write(t))`;
  await create('client', {
    restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'node:22', command: [process.execPath, '-e', script] }],
  });
  const pod = await when('client', isOver);
  expect(await logs(pod)).toBe('hi\n');
  server.close();
});
