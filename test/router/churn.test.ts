/** Routes, endpoints and certificates of a host change while all kinds of clients use it. No request may fail. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metrics, silentLogger } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Driver, DriverOptions, Listening } from '../../packages/tidegate/src/dataplane/driver.ts';
import { EmbeddedDriver } from '../../packages/tidegate/src/dataplane/embedded/index.ts';
import { NginxDriver } from '../../packages/tidegate/src/dataplane/nginx/index.ts';
import { runRouter } from '../../packages/tidegate/src/router/index.ts';
import { Backend } from '../dataplane/support/backend.ts';
import { ask } from '../dataplane/support/client.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { Changes, HOST, SERVICE_NAMES } from './support/changes.ts';
import { Traffic } from './support/traffic.ts';

const ROUTE_CHANGES = 200;
const ENDPOINT_CHANGES = 1_000;
const CERTIFICATE_CHANGES = 50;

let cluster: EmbeddedWithKinds;
let directory: string;
let backends: Backend[];

beforeEach(async () => {
  cluster = await startEmbeddedWithKinds();
  directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  backends = await Promise.all(
    [1, 2, 3, 4].map((number) => Backend.start(`backend-${number}`, { upgrade: echo })),
  );
});
afterEach(async () => {
  for (const backend of backends) await backend.stop();
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

const echo: NonNullable<Parameters<typeof Backend.start>[1]>['upgrade'] = (_, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  socket.on('error', () => {});
  socket.pipe(socket);
};

const options = (): DriverOptions => ({
  address: '127.0.0.1',
  httpPort: 0,
  httpsPort: 0,
  directory: join(directory, 'dataplane'),
  className: 'gold',
  defaults: { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, maxBodyBytes: 0 },
});

/** Runs the agent with the driver for as long as `work` takes. */
async function routing(driver: Driver, work: (ports: Listening) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const ports = await new Promise<Listening>((resolve, reject) => {
    running = runRouter({
      client: cluster.client,
      driver,
      classNames: ['gold'],
      agentName: 'churn',
      stateDirectory: directory,
      admin: { host: '127.0.0.1', port: 0 },
      noticeMs: 0,
      drainMs: 1_000,
      log: silentLogger,
      metrics: new Metrics(),
      signal: stop.signal,
      onListening: resolve,
    });
    running.catch(reject);
  });
  try {
    await work(ports);
  } finally {
    stop.abort();
    await running;
  }
}

/** Sends traffic during all changes, then checks that the final endpoints are in use and that nothing failed. */
async function churn(ports: Listening): Promise<void> {
  const changes = new Changes(
    cluster.client,
    backends.map(({ port }) => port),
  );
  await changes.create();
  const status = (where: string) => ask(ports.http, where).then((answer) => answer.status);
  await expect.poll(() => status(HOST)).toBe(200);
  const traffic = new Traffic({ ports, host: HOST, ca: changes.authority.certificate });
  const times = async (count: number, change: (index: number) => Promise<void>): Promise<void> => {
    for (let index = 1; index <= count; index++) await change(index);
  };
  await Promise.all([
    times(ROUTE_CHANGES, (index) => changes.changeRoute(index)),
    ...SERVICE_NAMES.map((name) =>
      times(ENDPOINT_CHANGES / SERVICE_NAMES.length, (index) => changes.changeEndpoint(name, index)),
    ),
    times(CERTIFICATE_CHANGES, () => changes.changeCertificate()),
  ]);
  const left = backends.filter(({ port }) => changes.ready.includes(port)).map(({ name }) => name);
  await expect.poll(() => askedBackends(ports, 3 * backends.length)).toEqual(left);
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  expect([...traffic.answered.keys()].sort()).toEqual(
    ['HTTP/2', 'WebSocket', 'kept', 'kept TLS', 'new', 'new HTTP/2', 'new TLS'].sort(),
  );
}

async function askedBackends(ports: Listening, count: number): Promise<string[]> {
  const names = new Set<string>();
  for (let i = 0; i < count; i++) names.add((await ask(ports.http, HOST)).echo.backend);
  return [...names].sort();
}

// This takes seconds on an idle machine.
describe('200 changes of routes, 1,000 of endpoints and 50 of certificates', { timeout: 240_000 }, () => {
  it('fail no request with nginx, and do not restart its processes', async () => {
    const driver = new NginxDriver(options(), { log: silentLogger });
    await routing(driver, async (ports) => {
      const before = await driver.processes();
      await churn(ports);
      expect(await driver.processes()).toEqual(before);
    });
  });

  it('fail no request with the embedded data plane', async () => {
    await routing(new EmbeddedDriver(options(), { log: silentLogger }), churn);
  });
});
