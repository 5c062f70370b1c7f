import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { ENDPOINT_SLICES, INGRESSES, KubeClient, loadConfig, SECRETS } from '@tidegate/kube';
import { Agent, request } from 'undici';
import { startTidegate } from '../apiserver/servers.ts';
import { memoryMiB } from '../programs.ts';
import { type Figure, millis, quantile } from '../report.ts';
import { newCertificate } from './certificate.ts';
import { createObjects, hostOf, ingress, MOVING, secret, slice } from './objects.ts';
import { type RouterProcess, startRouterProcess } from './router-process.ts';

const CHANGES = 100;
const DATA_PLANES = ['nginx', 'embedded'] as const;

interface Samples {
  route: number[];
  endpoint: number[];
  certificate: number[];
  startMs: number;
  memoryMiB: number;
}

/** Writes to the embedded API server, and sends requests to the router until the response is as expected. */
export async function benchPropagation(directory: string, ingresses: number): Promise<Figure[]> {
  const server = await startTidegate(directory);
  const client = new KubeClient(await loadConfig({ env: {}, path: server.kubeconfig }));
  const pairs = [newCertificate(), newCertificate()];
  const backends = await Promise.all(['one', 'other'].map(startBackend));
  try {
    await createObjects(client, ingresses, portOf(backends[0]!), pairs[0]!);
    const samples: Samples[] = [];
    for (const dataPlane of DATA_PLANES) {
      const router = await startRouterProcess(directory, server.kubeconfig, dataPlane);
      try {
        samples.push({
          startMs: router.startMs,
          memoryMiB: memoryMiB(router.pid),
          route: await routeChanges(client, router),
          endpoint: await endpointChanges(client, router, backends.map(portOf)),
          certificate: await certificateChanges(client, router, pairs),
        });
      } finally {
        await router.stop();
      }
    }
    return figures(ingresses, samples);
  } finally {
    for (const backend of backends) backend.close();
    await client.close();
    await server.stop();
  }
}

async function startBackend(name: string): Promise<Server> {
  const server = createServer((_, response) => response.end(name)).listen(0, '127.0.0.1');
  server.keepAliveTimeout = 60_000;
  await once(server, 'listening');
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function routeChanges(client: KubeClient, router: RouterProcess): Promise<number[]> {
  return asking(router.http, async (ask) => {
    const samples: number[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const object = ingress(`new-${i}`, MOVING);
      const write = () => client.create(INGRESSES, object);
      samples.push(await timed(write, async () => (await ask(hostOf(`new-${i}`))).code === 200));
    }
    await removeNew(client);
    return samples;
  });
}

async function removeNew(client: KubeClient): Promise<void> {
  for (let i = 0; i < CHANGES; i++) await client.delete(INGRESSES, { name: `new-${i}`, namespace: 'bench' });
}

async function endpointChanges(
  client: KubeClient,
  router: RouterProcess,
  ports: number[],
): Promise<number[]> {
  return asking(router.http, async (ask) => {
    const samples: number[] = [];
    for (let i = 1; i <= CHANGES; i++) {
      const object = slice(MOVING, ports[i % 2] ?? 0);
      const expected = ['one', 'other'][i % 2];
      const write = () => client.update(ENDPOINT_SLICES, object);
      samples.push(await timed(write, async () => (await ask(hostOf(MOVING))).body === expected));
    }
    return samples;
  });
}

async function certificateChanges(
  client: KubeClient,
  router: RouterProcess,
  pairs: { certificate: string; key: string }[],
): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 1; i <= CHANGES; i++) {
    const pair = pairs[i % 2]!;
    const write = () => client.update(SECRETS, secret(pair));
    samples.push(await timed(write, async () => (await shown(router.https)) === plain(pair.certificate)));
  }
  return samples;
}

/** Milliseconds from the start of the write until the first expected response. */
async function timed(write: () => Promise<unknown>, isRight: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  const written = write();
  while (!(await isRight()));
  const ms = performance.now() - started;
  await written;
  return ms;
}

type Ask = (host: string) => Promise<{ code: number; body: string }>;

async function asking<T>(url: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const agent = new Agent({ connections: 1, pipelining: 1 });
  try {
    return await work(async (host) => {
      const { statusCode, body } = await request(url, { dispatcher: agent, headers: { host } });
      return { code: statusCode, body: await body.text() };
    });
  } finally {
    await agent.destroy();
  }
}

async function shown(url: string): Promise<string> {
  const socket = connect({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    servername: hostOf(MOVING),
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return raw.toString('base64');
}

const plain = (pem: string): string => pem.replaceAll(/-----.*-----|\s/g, '');

function figures(ingresses: number, [nginx, embedded]: Samples[]): Figure[] {
  const row = (
    what: string,
    read: (samples: Samples) => number,
    show: (value: number) => string,
  ): Figure => ({
    what: `${ingresses} Ingresses, ${what}`,
    value: show(read(nginx!)),
    reference: `embedded ${show(read(embedded!))}`,
    ratio: (read(nginx!) / read(embedded!)).toFixed(2),
  });
  const quantiles = (what: string, read: (samples: Samples) => number[]): Figure[] =>
    [0.5, 0.99].map((share) =>
      row(`${what}, p${share * 100}`, (each) => quantile(read(each), share), millis),
    );
  return [
    ...quantiles('a new route', ({ route }) => route),
    ...quantiles('another endpoint', ({ endpoint }) => endpoint),
    ...quantiles('another certificate', ({ certificate }) => certificate),
    row('start until all routes are served', ({ startMs }) => startMs, millis),
    row(
      'memory with the agent',
      (samples) => samples.memoryMiB,
      (value) => `${value.toFixed(0)} MiB`,
    ),
  ];
}
