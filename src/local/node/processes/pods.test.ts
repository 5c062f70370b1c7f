import { randomInt } from 'node:crypto';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  EventRecorder,
  Informers,
  type KubeObject,
  NODES,
  PODS,
  type Pod,
  SERVICES,
  silentLogger,
  systemClock,
} from '../../../kube/index.ts';
import type { ContainerLogs, ContainerPlace } from '../contracts.ts';
import { PodManager } from '../pods/manager.ts';
import { Registration, thisMachine } from '../registration/index.ts';
import { startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { eventually } from '../testing/eventually.ts';
import { openProcessRuntime } from './open.ts';

const NODE = 'node-a';
/** A range of its own for each run, so that runs at the same time do not meet. */
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;

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
let node: Awaited<ReturnType<typeof startNode>>;

/** Just files; the real one is tested beside it. */
const plainLogs = (): ContainerLogs => ({
  outputFor: async ({ logDirectory }: ContainerPlace) => {
    await mkdir(logDirectory, { recursive: true });
    const file = await open(join(logDirectory, 'out'), 'a');
    return { fd: file.fd, close: () => file.close() };
  },
  resume: async () => {},
  ended: async () => {},
  async *read() {},
  close: async () => {},
});

async function startNode() {
  const client = await cluster.node(NODE);
  const state = join(cluster.directory, NODE);
  await mkdir(state, { recursive: true });
  const imagesFile = join(state, 'images.yaml');
  const images = [
    {
      image: 'server',
      command: [process.execPath, '-e', SERVER, '{port}', '{podIP}'],
      env: { GREETING: '{pod}' },
    },
    { image: 'crash', command: [process.execPath, '-e', 'process.exit(2)'] },
    { image: 'work', command: [process.execPath, '-e', 'console.log("done")'] },
    {
      image: 'stubborn',
      command: [process.execPath, '-e', 'process.on("SIGTERM",()=>{});setInterval(()=>{},1e3)'],
    },
    { image: 'nothing', command: ['/no/such/program'] },
    { image: 'gone', absent: true, message: 'it is not here' },
  ];
  await writeFile(imagesFile, stringify({ images }));
  const stop = new AbortController();
  const shared = { clock: systemClock, logger: silentLogger, log: silentLogger };
  const informers = new Informers(client);
  const recorder = new EventRecorder(client, { component: 'kubelet' });
  const runtime = await openProcessRuntime({
    ...shared,
    client,
    nodeName: NODE,
    nodeIP: '127.0.0.1',
    nodes: informers.for(NODES, { fieldSelector: `metadata.name=${NODE}` }),
    services: informers.for(SERVICES),
    logs: plainLogs(),
    stateDirectory: state,
    imagesFile,
    apiAddress: new URL(cluster.server.url).host,
    program: [],
    path: process.env.PATH ?? '',
  });
  const manager = await PodManager.open({ ...shared, client, runtime, recorder, hostIP: '127.0.0.1' });
  const description = {
    name: NODE,
    address: '127.0.0.1',
    kubeletPort: 10250,
    labels: { location: 'here' },
    kubernetesVersion: 'v1.36.4',
    version: 'test',
    machine: thisMachine(),
  };
  const registration = new Registration({ ...shared, client, description });
  await registration.register(stop.signal);
  await cluster.admin.patch(NODES, { name: NODE }, 'merge', { spec: { podCIDR: `${RANGE}.0/24` } });
  const pods = informers.for(PODS, { fieldSelector: `spec.nodeName=${NODE}` });
  const running = Promise.all([informers.run(stop.signal), registration.run(stop.signal)]);
  await informers.synced();
  pods.addHandler({
    onAdd: (pod) => manager.put(pod),
    onUpdate: (_old, pod) => manager.put(pod),
    onDelete: (pod) => manager.remove(pod),
  });
  manager.endOrphans();
  /** As after kill -9: the processes stay. */
  const abandon = async (): Promise<void> => {
    stop.abort();
    await running;
    await recorder.close();
    await runtime.close();
  };
  return {
    abandon,
    manager,
    place: (uid: string) => runtime.place(uid),
    close: async (): Promise<void> => {
      await manager.close(5_000);
      await abandon();
    },
  };
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

test('a pod runs on its own address, becomes ready, and goes when it is deleted', async () => {
  await create('web', [server]);
  const pod = await when('web', isReady);
  const { podIP } = pod.status!;
  expect(podIP?.startsWith(`${RANGE}.`)).toBe(true);
  expect(pod.status).toMatchObject({ phase: 'Running', hostIP: '127.0.0.1', podIPs: [{ ip: podIP }] });
  expect(firstOf(pod)?.containerID).toMatch(/^tidegate:\/\/[0-9a-f]{64}$/);
  const answer = await fetchText(`http://${podIP}:8080/`);
  expect(answer.text).toBe(`web 8080 ${podIP} from web`);
  await eventually(async () =>
    expect((await eventsOf('web')).some((text) => text.startsWith('Started:'))).toBe(true),
  );
  const { directory } = node.place(pod.metadata.uid!);
  const log = join(node.place(pod.metadata.uid!).container('main').logDirectory, 'out');
  expect(await readFile(log, 'utf8')).toBe('');
  await cluster.admin.delete(PODS, { namespace: 'default', name: 'web' });
  await eventually(async () => {
    await expect(read('web')).rejects.toThrow('not found');
    await expect(readFile(join(directory, 'pod.json'))).rejects.toThrow('ENOENT');
  });
});

test('a container that crashes is started again, then waits', async () => {
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

test('init containers run first, and what has done its work is done', async () => {
  await create('job', [{ name: 'main', image: 'work' }], {
    restartPolicy: 'Never',
    initContainers: [{ name: 'first', image: 'work' }],
  });
  const pod = await when('job', ({ status }) => status?.phase === 'Succeeded');
  expect(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  expect(firstOf(pod)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
});

test('what can not be started says why', async () => {
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

test('a container that fails its liveness probe is restarted; readiness follows its probe', async () => {
  const livenessProbe = { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, failureThreshold: 2 };
  await create('sick', [{ ...server, livenessProbe }]);
  const pod = await when('sick', isReady);
  await fetchText(`http://${pod.status?.podIP}:8080/fail`);
  await when('sick', (p) => (firstOf(p)?.restartCount ?? 0) === 1 && isReady(p));
  const events = await eventsOf('sick');
  expect(events).toContain('Killing: Container main failed liveness probe, will be restarted');
  expect(events).toContain('Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 500');
});

test('who does not want to end is ended when the grace is over', async () => {
  await create('stubborn', [{ name: 'main', image: 'stubborn' }], { terminationGracePeriodSeconds: 1 });
  await when('stubborn', isReady);
  await cluster.admin.delete(PODS, { namespace: 'default', name: 'stubborn' });
  await eventually(async () => {
    await expect(read('stubborn')).rejects.toThrow('not found');
  });
});

test('an agent takes over what an earlier one started, and ends what was deleted meanwhile', async () => {
  await create('kept', [server]);
  await create('lost', [server]);
  const kept = await when('kept', isReady);
  const lost = await when('lost', isReady);
  await node.abandon();
  await cluster.admin.delete(PODS, { namespace: 'default', name: 'lost' }, { gracePeriodSeconds: 0 });
  node = await startNode();
  await eventually(async () => {
    await expect(fetchText(`http://${lost.status?.podIP}:8080/`)).rejects.toThrow();
  });
  expect((await fetchText(`http://${kept.status?.podIP}:8080/`)).status).toBe(200);
  const after = await read('kept');
  expect(firstOf(after)).toMatchObject({ restartCount: 0, containerID: firstOf(kept)?.containerID });
  await fetchText(`http://${kept.status?.podIP}:8080/exit`).catch(() => {});
  await when('kept', (pod) => firstOf(pod)?.restartCount === 1 && isReady(pod));
});

test('an agent that ends takes its containers along, and the next one starts them again', async () => {
  await create('again', [server]);
  const pod = await when('again', isReady);
  await node.close();
  await expect(fetchText(`http://${pod.status?.podIP}:8080/`)).rejects.toThrow();
  expect(isReady(await read('again'))).toBe(true);
  node = await startNode();
  const after = await when('again', (p) => firstOf(p)?.restartCount === 1 && isReady(p));
  expect(after.status?.podIP).toBe(pod.status?.podIP);
});
