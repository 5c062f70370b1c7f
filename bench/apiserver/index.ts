/**
 * Measures the embedded API server. servers.ts starts it and the references in child processes: bare-server.ts answers
 * without doing anything, storage-reference.ts writes the same objects with a database library. objects.ts has the objects,
 * and watchers.ts measures how fast an event reaches many watchers. kubernetes.ts starts kube-apiserver
 * and etcd, and compare.ts measures both servers in turns, with the requests of raw-client.ts.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, request } from 'undici';
import { type Figure, hammer, millis, perSecond, printFigures } from '../report.ts';
import { CLIENTS, compare, type Side } from './compare.ts';
import { kubernetesPrograms, startKubernetes } from './kubernetes.ts';
import { configMap, pod } from './objects.ts';
import { RawClients } from './raw-client.ts';
import {
  connect,
  credentials,
  type RunningServer,
  residentMiB,
  startBare,
  startTidegate,
} from './servers.ts';
import { classicLevelWrites } from './storage-reference.ts';
import { openWatchers } from './watchers.ts';

/** Large enough for a stable rate, small enough for a run of a minute. */
const CREATES = { one: 1500, many: 8000 };
const FEW = 3500;
const LIST = 10_000;
const WATCHERS = 1000;
const CROWD = 50_000;

/** Compares with a real kube-apiserver. It needs the programs in PATH or in BENCH_KUBE_APISERVER and BENCH_ETCD. */
async function benchKubernetes(rounds: number): Promise<void> {
  const programs = kubernetesPrograms();
  if (programs === undefined) {
    console.log(
      'kube-apiserver or etcd is missing, so the embedded API server is not compared with them: set BENCH_KUBE_APISERVER and BENCH_ETCD to their paths.',
    );
    return;
  }
  // An interrupted run ends the servers, see servers.ts.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  const server = await startTidegate(directory);
  const own = credentials(directory);
  const agent = connect(directory, 1);
  const realAgent = connect(directory, 1);
  const opened: RawClients[] = [];
  const side = async (url: string, pids: number[], of: Agent): Promise<Side> => {
    const clients = await RawClients.open(url, own, CLIENTS);
    opened.push(clients);
    return { url, pids, agent: of, clients, credentials: own };
  };
  try {
    const real = await startKubernetes(
      programs,
      join(directory, 'kubernetes'),
      join(directory, 'data', 'pki'),
      realAgent,
    );
    try {
      const figures = await compare(
        await side(server.url, [server.pid], agent),
        await side(real.url, real.pids, realAgent),
        rounds,
      );
      printFigures(`Embedded API server and ${real.name}, HTTPS, in turns`, figures);
    } finally {
      await real.stop();
    }
  } finally {
    for (const clients of opened) clients.close();
    await agent.destroy();
    await realAgent.destroy();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Measures a server in a process of its own over HTTPS, as users run it, with references for the disk and for Node, and
 * then beside kube-apiserver. The first argument `kubernetes` runs only the comparison; the second is the number of rounds.
 */
export async function benchApiServer([part, rounds = '5']: string[]): Promise<void> {
  if (part !== 'kubernetes') await benchEmbedded();
  await benchKubernetes(Number(rounds));
}

async function benchEmbedded(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  const figures: Figure[] = [];
  try {
    const server = await startTidegate(directory);
    figures.push({ what: 'first start (creates keys)', value: millis(server.startMs) });
    figures.push({ what: 'memory, empty', value: `${residentMiB(server.pid)} MiB` });
    const agent = connect(directory, 64);
    try {
      figures.push(...(await benchRequests(directory, server, agent)));
      figures.push(await benchList(server, agent));
      figures.push(await benchWatch(directory, server, agent));
      figures.push(await benchMemory(server, agent));
    } finally {
      await agent.destroy();
      await server.stop();
    }
    figures.push(await benchRestart(directory));
    printFigures('Embedded API server, 2 KB objects, HTTPS', figures);
    console.log(
      `\nReferences: raw classic-level puts with sync; an HTTPS server that only reads the body and answers 2 KB.`,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function send(agent: Agent, url: string, method: 'GET' | 'POST', body?: string): Promise<void> {
  const response = await request(url, { dispatcher: agent, method, body });
  await response.body.dump();
  if (response.statusCode >= 300) throw new Error(`${method} ${url} answered ${response.statusCode}`);
}

async function benchRequests(directory: string, server: RunningServer, agent: Agent): Promise<Figure[]> {
  const path = `${server.url}/api/v1/namespaces/default/configmaps`;
  const create = (prefix: string) => (i: number) => send(agent, path, 'POST', configMap(`${prefix}-${i}`));
  await hammer(FEW, 64, create('warm'));
  const memory = residentMiB(server.pid);
  const many = perSecond(CREATES.many, await hammer(CREATES.many, 64, create('many')));
  const one = perSecond(CREATES.one, await hammer(CREATES.one, 1, create('one')));
  const gets = perSecond(
    20_000,
    await hammer(20_000, 64, (i) => send(agent, `${path}/many-${i % CREATES.many}`, 'GET')),
  );

  const bare = await startBare(directory);
  const post = () => send(agent, bare.url, 'POST', configMap('x'));
  await hammer(500, 8, post);
  const bareOne = perSecond(CREATES.one, await hammer(CREATES.one, 1, post));
  const bareMany = perSecond(CREATES.many, await hammer(CREATES.many, 64, post));
  const bareGets = perSecond(20_000, await hammer(20_000, 64, () => send(agent, bare.url, 'GET')));
  await bare.stop();
  const levelOne = await classicLevelWrites(join(directory, 'level'), CREATES.one, 1);
  const levelMany = await classicLevelWrites(join(directory, 'level'), CREATES.many, 64);

  const compare = (what: string, ours: number, reference: number, name: string): Figure => ({
    what,
    value: `${ours}/s`,
    reference: `${name} ${reference}/s`,
    ratio: (ours / reference).toFixed(2),
  });
  return [
    { what: `memory at ${FEW} objects`, value: `${memory} MiB` },
    compare('durable creates, 1 client', one, levelOne, 'classic-level'),
    compare('', one, bareOne, 'bare HTTPS'),
    compare('durable creates, 64 clients', many, levelMany, 'classic-level'),
    compare('', many, bareMany, 'bare HTTPS'),
    compare('gets, 64 clients', gets, bareGets, 'bare HTTPS'),
  ];
}

async function benchList(server: RunningServer, agent: Agent): Promise<Figure> {
  const path = `${server.url}/api/v1/namespaces/kube-system/pods`;
  await hammer(LIST, 64, (i) => send(agent, path, 'POST', pod(`pod-${i}`)));
  const times: number[] = [];
  let bytes = 0;
  for (let i = 0; i < 7; i++) {
    const started = performance.now();
    const { body } = await request(path, { dispatcher: agent });
    bytes = (await body.arrayBuffer()).byteLength;
    times.push(performance.now() - started);
  }
  const ms = Math.min(...times);
  const rate = Math.round(bytes / 1024 / 1024 / (ms / 1000));
  return {
    what: `list of ${LIST} pods (${(bytes / 1024 / 1024).toFixed(0)} MiB)`,
    value: millis(ms),
    reference: `${rate} MiB/s`,
  };
}

async function benchWatch(directory: string, server: RunningServer, agent: Agent): Promise<Figure> {
  const watchers = await openWatchers(server.url, credentials(directory), WATCHERS);
  const { p50, p99 } = await watchers.fanOut(agent, 'fan');
  watchers.close();
  return { what: `event to ${WATCHERS} watchers`, value: `p50 ${millis(p50)}, p99 ${millis(p99)}` };
}

async function benchMemory(server: RunningServer, agent: Agent): Promise<Figure> {
  const path = `${server.url}/api/v1/namespaces/kube-node-lease/configmaps`;
  const present = LIST + CREATES.one + CREATES.many + FEW;
  await hammer(CROWD - present, 64, (i) => send(agent, path, 'POST', configMap(`crowd-${i}`)));
  return { what: `memory at ${CROWD} objects (98 MiB of values)`, value: `${residentMiB(server.pid)} MiB` };
}

async function benchRestart(directory: string): Promise<Figure> {
  const server = await startTidegate(directory);
  const memory = residentMiB(server.pid);
  await server.stop();
  return {
    what: `start with ${CROWD} objects`,
    value: millis(server.startMs),
    reference: `${memory} MiB after it`,
  };
}
