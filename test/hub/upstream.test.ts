/** Connections to a real API server, over two links that fail and recover. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CONFIG_MAPS,
  type ConfigMap,
  Informer,
  KubeClient,
  loadConfig,
  Metrics,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { Exchange } from '@tidegate/serving';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DiscoveryCache } from '../../packages/tidegate/src/hub/discovery/index.ts';
import { HEALTH_TIMINGS, Upstream, writeHead } from '../../packages/tidegate/src/hub/upstream/index.ts';
import { Relay } from '../../packages/tidegate/src/hub/upstream/testing/relay.ts';
import { eventually } from '../support/cluster.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';

let embedded: Embedded;
let ways: Relay[];
let upstream: Upstream;
/** Bypasses the relays. */
let direct: KubeClient;
const stop = new AbortController();

beforeAll(async () => {
  embedded = await startEmbedded();
  const port = Number(new URL(embedded.url).port);
  ways = [await new Relay(port).open(), await new Relay(port).open()];
  const config = await loadConfig({ path: embedded.kubeconfig, env: {} });
  const { ca, credentials } = config;
  direct = new KubeClient(config);
  upstream = await Upstream.open({
    servers: ways.map((way) => `https://127.0.0.1:${way.port}`),
    mode: 'rr',
    ca: ca!,
    nodeCredentials: credentials,
    userAgent: 'tidegate-hub/test',
    clock: systemClock,
    log: silentLogger,
    metrics: new Metrics(),
    timings: { ...HEALTH_TIMINGS, downIntervalMs: 100 },
  });
});
afterAll(async () => {
  stop.abort();
  await Promise.all([upstream.close(), direct.close()]);
  await Promise.all(ways.map((way) => way.cut()));
  await embedded.stop();
});

const bothWays = () =>
  eventually('both servers are healthy', () => upstream.servers().every((s) => s.healthy) || undefined);

describe('a hub that only forwards', () => {
  let hub: Server;
  let directory: string;
  let kubectl: Kubectl;

  beforeAll(async () => {
    hub = createServer(async (request, response) => {
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const { method = '', url: path = '', headersDistinct: headers } = request;
      const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
      const body = hasBody ? { body: request } : {};
      const answer = await upstream.forward({
        method,
        path,
        headers,
        ...body,
        credential: 'node',
        signal: gone.signal,
      });
      response.writeHead(answer.status, answer.headers);
      await pipeline(answer.body, response).catch(() => response.destroy());
    });
    hub.on('upgrade', (request, socket, head) => {
      upstream.upgrade(request, socket, head, 'node').catch(() => {
        writeHead(socket, 503, { connection: 'close', 'content-length': '0' });
        socket.end();
      });
    });
    await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
    directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
    const server = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'hub', cluster: { server } }],
      contexts: [{ name: 'hub', context: { cluster: 'hub', user: '' } }],
      'current-context': 'hub',
    };
    await writeFile(join(directory, 'kubeconfig'), JSON.stringify(config));
    kubectl = new Kubectl(join(directory, 'kubeconfig'));
  });
  afterAll(async () => {
    hub.closeAllConnections();
    await new Promise((resolve) => hub.close(resolve));
    await rm(directory, { recursive: true, force: true });
  });

  it('works with kubectl', async () => {
    const metadata = { name: 'k', namespace: 'default' };
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } };
    expect(await kubectl.apply(applied)).toContain('configmap/k created');
    expect(await kubectl.run('get configmaps k -o jsonpath={.data.a}')).toBe('1');
    const deleted = kubectl.run('wait --for=delete configmap/k --timeout=30s');
    await sleep(100);
    expect(await kubectl.run('delete configmap k')).toContain('deleted');
    await deleted;
    expect(await kubectl.run('api-resources --api-group=apps')).toContain('deployments');
  });

  it('forwards the response to an upgrade, here an error', async () => {
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default' }, spec };
    await kubectl.apply(node, pod);
    const around = new Kubectl(embedded.kubeconfig);
    const refusal = (k: Kubectl) => k.run('exec p -- true').then(String, (error: Error) => error.message);
    expect(await refusal(kubectl)).toBe(await refusal(around));
  });
});

it('no read fails and no change is lost while links fail', async () => {
  await bothWays();
  const failures: unknown[] = [];
  let answered = 0;
  let over = false;
  const read = async (): Promise<void> => {
    while (!over) {
      try {
        await upstream.node().list(CONFIG_MAPS, { namespace: 'kube-system' });
        answered++;
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const informer = new Informer<ConfigMap>(upstream.node(), CONFIG_MAPS, {
    namespace: 'default',
    log: silentLogger,
  });
  const ended = informer.run(stop.signal);
  const readers = Array.from({ length: 4 }, read);
  for (let round = 0; round < 6; round++) {
    const way = ways[round % 2]!;
    const before = answered;
    if (round < 4) {
      await way.cut();
      await direct.create(CONFIG_MAPS, configMap(`round-${round}`));
      await eventually(
        'the server is unhealthy',
        () => upstream.servers().some((s) => !s.healthy) || undefined,
      );
      await eventually('reads continue', () => answered > before + 10 || undefined);
      await way.open();
      await bothWays();
    } else {
      way.reset();
      await eventually('reads continue', () => answered > before + 10 || undefined);
    }
  }
  over = true;
  await Promise.all(readers);
  expect(failures).toEqual([]);
  await eventually('the informer has all changes', () => {
    const names = informer.cache.list().map((object) => object.metadata.name);
    return [0, 1, 2, 3].every((round) => names.includes(`round-${round}`)) || undefined;
  });
  stop.abort();
  await ended;
});

const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
});

it('stores the discovery documents of a real server', async () => {
  await bothWays();
  const map = new Map<string, Buffer>();
  const cache = await DiscoveryCache.open({
    upstream,
    map: {
      get: async (key) => map.get(key),
      keys: (prefix) => [...map.keys()].filter((key) => key.startsWith(prefix)),
      put: (key, value) => map.set(key, value),
      delete: (key) => map.delete(key),
    },
    log: silentLogger,
  });
  const stopped = new AbortController();
  const running = cache.run(stopped.signal);
  const groupVersions = (await upstream.node().text('/apis')).match(/"groupVersion":"[^"]+"/g) ?? [];
  const paths = new Set(groupVersions.map((match) => `/apis/${match.slice(16, -1)}`));
  await eventually('every group version is stored', () => {
    const kept = new Set([...map.keys()].map((key) => key.split(' ')[1]));
    return [...paths, '/api/v1', '/version'].every((path) => kept.has(path)) || undefined;
  });
  stopped.abort();
  await running;

  await Promise.all(ways.map((way) => way.cut()));
  const hub = createServer(async (request, response) => {
    const exchange = new Exchange(request, response);
    const identity = { kind: 'node', key: 'node' } as const;
    const url = new URL(request.url ?? '/', 'http://hub');
    await cache.serve({ exchange, url, identity, signal: new AbortController().signal });
  });
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  try {
    const list = (await (await fetch(`${origin}/api/v1`)).json()) as { kind: string; resources: unknown[] };
    expect(list.kind).toBe('APIResourceList');
    expect(list.resources.length).toBeGreaterThan(20);
  } finally {
    hub.closeAllConnections();
    await new Promise((resolve) => hub.close(resolve));
    await Promise.all(ways.map((way) => way.open()));
  }
});
