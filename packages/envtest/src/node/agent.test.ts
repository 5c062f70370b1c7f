import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type KubeObject, NODES, PODS, type Pod, silentLogger } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { TestProcess } from '../../../../test/support/process.ts';
import { type Agent, startAgent } from './index.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';
import { eventually } from './testing/eventually.ts';

/** The program that `npm run build` creates. */
const PROGRAM = fileURLToPath(new URL('../../../tidegate/dist/cli/main.js', import.meta.url));
const NODE = 'node-a';
/** Each run uses another address range, so that concurrent runs do not conflict. */
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const ADDRESS = `${RANGE}.1`;

const SERVER = `
const http = require('node:http');
let ok = true;
http.createServer((req, res) => {
  if (req.url === '/fail') ok = false;
  if (req.url === '/exit') process.exit(3);
  res.statusCode = ok ? 200 : 500;
  res.end(process.env.GREETING + ' ' + process.argv.slice(1).join(' '));
}).listen(Number(process.argv[1]), process.argv[2]);
process.on('SIGTERM', () => { console.log('ending'); process.exit(0); });
`;

let cluster: TestCluster;
let node: Agent;

/** The image table of the tests: most images run a small server in Node.js. */
async function writeImages(): Promise<string> {
  const run = (code: string, ...args: string[]): string[] => [process.execPath, '-e', code, ...args];
  const images = [
    { image: 'server', command: run(SERVER, '{port}', '{podIP}'), env: { GREETING: '{pod}' } },
    { image: 'crash', command: run('process.exit(2)') },
    { image: 'complains', command: run('console.error("no disk"); process.exit(1)') },
    { image: 'work', command: run('console.log("done")') },
    { image: 'stubborn', command: run('process.on("SIGTERM",()=>{});setInterval(()=>{},1e3)') },
    { image: 'nothing', command: ['/no/such/program'] },
    { image: 'gone', absent: true, message: 'it is not here' },
  ];
  const file = join(cluster.directory, 'images.yaml');
  await writeFile(file, stringify({ images }));
  return file;
}

async function startNode(): Promise<Agent> {
  const agent = await startAgent({
    name: NODE,
    client: await cluster.node(NODE),
    proxyClient: cluster.admin,
    address: ADDRESS,
    listenPort: 0,
    advertisePort: 10250,
    labels: { location: 'here' },
    stateDirectory: join(cluster.directory, NODE),
    imagesFile: await writeImages(),
    program: [],
    path: process.env.PATH ?? '',
    kubernetesVersion: 'v1.36.4',
    version: 'test',
    log: silentLogger,
  });
  // The IPAM controller does this in a real cluster.
  await cluster.admin.patch(NODES, { name: NODE }, 'merge', { spec: { podCIDR: `${RANGE}.0/24` } });
  return agent;
}

beforeAll(async () => {
  cluster = await startTestCluster();
  node = await startNode();
});

afterEach(async () => {
  const { items } = await cluster.admin.list(PODS, { namespace: 'default' });
  await Promise.all(
    items.map(({ metadata }) =>
      cluster.admin.delete(PODS, { namespace: 'default', name: metadata.name! }, { gracePeriodSeconds: 1 }),
    ),
  );
  await eventually(async () => {
    expect((await cluster.admin.list(PODS, { namespace: 'default' })).items).toEqual([]);
  });
});

afterAll(async () => {
  await node.close();
  await cluster.stop();
});

type Spec = NonNullable<Pod['spec']>;
type Containers = Spec['containers'];

async function create(name: string, containers: Containers, spec: Partial<Spec> = {}): Promise<Pod> {
  return cluster.admin.create<Pod>(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { nodeName: NODE, automountServiceAccountToken: false, ...spec, containers },
  });
}

const read = (name: string): Promise<Pod> => cluster.admin.get(PODS, { namespace: 'default', name });

async function when(name: string, holds: (pod: Pod) => boolean): Promise<Pod> {
  return eventually(async () => {
    const pod = await read(name);
    expect(holds(pod), JSON.stringify(pod.status, null, 1)).toBe(true);
    return pod;
  });
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;

const firstOf = (pod: Pod) => pod.status?.containerStatuses?.[0];

function fetchText(url: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (res) => {
      let text = '';
      res.on('data', (chunk) => {
        text += chunk;
      });
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }));
      res.on('error', reject);
    }).on('error', reject);
  });
}

async function eventsOf(name: string): Promise<string[]> {
  const resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
  const { items } = await cluster.admin.list<KubeObject>(resource, { namespace: 'default' });
  return items
    .filter(({ involvedObject }) => (involvedObject as { name: string }).name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}

const server: Containers[number] = {
  name: 'main',
  image: 'server',
  ports: [{ containerPort: 8080 }],
  args: ['from $(POD)'],
  env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
  readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
};

test('runs a pod on its own address, reports it ready, and removes it when it is deleted', async () => {
  await create('web', [server]);
  const pod = await when('web', isReady);
  const { podIP } = pod.status!;
  expect(podIP?.startsWith(`${RANGE}.`)).toBe(true);
  expect(pod.status).toMatchObject({ phase: 'Running', hostIP: ADDRESS, podIPs: [{ ip: podIP }] });
  expect(firstOf(pod)?.containerID).toMatch(/^tidegate:\/\/[0-9a-f]{64}$/);
  const answer = await fetchText(`http://${podIP}:8080/`);
  expect(answer.text).toBe(`web 8080 ${podIP} from web`);
  await eventually(async () =>
    expect((await eventsOf('web')).some((text) => text.startsWith('Started:'))).toBe(true),
  );
  const record = join(cluster.directory, NODE, 'pods', pod.metadata.uid!, 'pod.json');
  expect(JSON.parse(await readFile(record, 'utf8'))).toMatchObject({ podIP });
  await cluster.admin.delete(PODS, { namespace: 'default', name: 'web' });
  await eventually(async () => {
    await expect(read('web')).rejects.toThrow('not found');
    await expect(readFile(record)).rejects.toThrow('ENOENT');
  });
});

test('restarts a container that crashes, then backs off', async () => {
  await create('crash', [{ name: 'main', image: 'crash' }]);
  const pod = await when('crash', (p) => firstOf(p)?.state?.waiting?.reason === 'CrashLoopBackOff');
  expect(firstOf(pod)).toMatchObject({
    restartCount: 1,
    ready: false,
    lastState: { terminated: { exitCode: 2 } },
  });
  expect(pod.status?.phase).toBe('Running');
  await eventually(async () =>
    expect((await eventsOf('crash')).some((text) => text.startsWith('BackOff: Back-off restarting'))).toBe(
      true,
    ),
  );
});

test('reports the end of the log as the termination message of a container that asks for it', async () => {
  const policy = { terminationMessagePolicy: 'FallbackToLogsOnError' };
  await create('complains', [{ name: 'main', image: 'complains', ...policy }], { restartPolicy: 'Never' });
  const pod = await when('complains', ({ status }) => status?.phase === 'Failed');
  expect(firstOf(pod)?.state?.terminated).toMatchObject({ exitCode: 1, message: 'no disk\n' });
});

test('runs init containers first, and does not restart completed containers', async () => {
  await create('job', [{ name: 'main', image: 'work' }], {
    restartPolicy: 'Never',
    initContainers: [{ name: 'first', image: 'work' }],
  });
  const pod = await when('job', ({ status }) => status?.phase === 'Succeeded');
  expect(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  expect(firstOf(pod)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
});

test('reports why a container cannot be started', async () => {
  await create('gone', [{ name: 'main', image: 'gone' }]);
  await create('nothing', [{ name: 'main', image: 'nothing' }]);
  await create('config', [
    { ...server, env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'missing', key: 'x' } } }] },
  ]);
  const reasonOf = (pod: Pod): string | undefined => firstOf(pod)?.state?.waiting?.reason;
  await when('gone', (pod) => reasonOf(pod) === 'ErrImagePull');
  await when('gone', (pod) => reasonOf(pod) === 'ImagePullBackOff');
  const nothing = await when('nothing', (pod) => reasonOf(pod) === 'RunContainerError');
  expect(firstOf(nothing)?.state?.waiting?.message).toContain('/no/such/program');
  await when('config', (pod) => reasonOf(pod) === 'CreateContainerConfigError');
});

test('restarts a container that fails its liveness probe; readiness follows its probe', async () => {
  const livenessProbe = { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, failureThreshold: 2 };
  await create('sick', [{ ...server, livenessProbe }]);
  const pod = await when('sick', isReady);
  await fetchText(`http://${pod.status?.podIP}:8080/fail`);
  await when('sick', (p) => (firstOf(p)?.restartCount ?? 0) === 1 && isReady(p));
  const events = await eventsOf('sick');
  expect(events).toContain('Killing: Container main failed liveness probe, will be restarted');
  expect(events).toContain('Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 500');
});

test('kills a container that ignores SIGTERM after the grace period', async () => {
  await create('stubborn', [{ name: 'main', image: 'stubborn' }], { terminationGracePeriodSeconds: 1 });
  await when('stubborn', isReady);
  await cluster.admin.delete(PODS, { namespace: 'default', name: 'stubborn' });
  await eventually(async () => {
    await expect(read('stubborn')).rejects.toThrow('not found');
  });
});

test('ends a pod that is active for longer than activeDeadlineSeconds', async () => {
  await create('limited', [server]);
  // The deadline follows once the program listens: before, it does not handle SIGTERM yet.
  await when('limited', isReady);
  await cluster.admin.patch(PODS, { namespace: 'default', name: 'limited' }, 'merge', {
    spec: { activeDeadlineSeconds: 1 },
  });
  await eventually(async () => {
    const { status } = await read('limited');
    expect(status).toMatchObject({
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
    // It exits with 0 when it is stopped, and is not started again.
    expect(status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 0 } },
    });
  });
});

test('adopts containers of an agent that was killed, and stops those whose pod was deleted meanwhile', async () => {
  await node.close();
  const first = await startProcess();
  await create('kept', [server]);
  await create('lost', [server]);
  const kept = await when('kept', isReady);
  const lost = await when('lost', isReady);
  await first.kill('SIGKILL');
  await cluster.admin.delete(PODS, { namespace: 'default', name: 'lost' }, { gracePeriodSeconds: 0 });
  expect((await fetchText(`http://${lost.status?.podIP}:8080/`)).status).toBe(200);
  node = await startNode();
  await eventually(async () => {
    await expect(fetchText(`http://${lost.status?.podIP}:8080/`)).rejects.toThrow();
  });
  expect((await fetchText(`http://${kept.status?.podIP}:8080/`)).status).toBe(200);
  const after = await read('kept');
  expect(firstOf(after)).toMatchObject({ restartCount: 0, containerID: firstOf(kept)?.containerID });
  await fetchText(`http://${kept.status?.podIP}:8080/exit`).catch(() => {}); // The server exits instead of responding.
  await when('kept', (pod) => firstOf(pod)?.restartCount === 1 && isReady(pod));
});

/** The same agent as a separate process, so that it can be killed. */
async function startProcess(): Promise<TestProcess> {
  const admin = parse(await readFile(join(cluster.directory, 'kubeconfig'), 'utf8'));
  Object.assign(admin.users[0].user, {
    as: `system:node:${NODE}`,
    'as-groups': ['system:nodes', 'system:authenticated'],
  });
  const kubeconfig = join(cluster.directory, 'kubelet.kubeconfig');
  await writeFile(kubeconfig, stringify(admin));
  const args = ['--node-name', NODE, '--kubeconfig', kubeconfig, '--address', ADDRESS];
  const files = ['--state', join(cluster.directory, NODE), '--images', await writeImages()];
  const proxy = ['--proxy-kubeconfig', join(cluster.directory, 'kubeconfig')];
  const command = [process.execPath, PROGRAM, 'node', ...args, ...files, ...proxy];
  const child = new TestProcess(command, { ipc: true });
  await child.message();
  return child;
}

test('stops its containers when it stops, and the next agent starts them again', async () => {
  await create('again', [server]);
  const pod = await when('again', isReady);
  await node.close();
  await expect(fetchText(`http://${pod.status?.podIP}:8080/`)).rejects.toThrow();
  expect(isReady(await read('again'))).toBe(true);
  node = await startNode();
  const after = await when('again', (p) => firstOf(p)?.restartCount === 1 && isReady(p));
  expect(after.status?.podIP).toBe(pod.status?.podIP);
});
