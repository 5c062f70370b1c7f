import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Delta, HostRoutes, Upstream } from '../../ingress/model.ts';
import { TestAuthority } from '../../ingress/testing/certificates.ts';
import { CapacityError, type Listening, NeedsFullState } from '../driver.ts';
import { NginxDriver } from './index.ts';
import { Nginx, type NginxOptions } from './nginx.ts';

const NONE = { set: [], remove: [] };

describe('nginx', () => {
  let directory: string;
  let driver: NginxDriver;
  let backend: Server;
  let ports: Listening;
  let generation: number;

  beforeAll(async () => {
    backend = createServer((_, response) => response.end('here'));
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => backend.close(resolve)));
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'tidegate-'));
    generation = 0;
  });
  afterEach(async () => {
    await driver.close();
    rmSync(directory, { recursive: true });
  });

  const make = (more: Partial<NginxOptions> = {}): NginxDriver =>
    new NginxDriver({ ...optionsIn(directory), ...more }, { log: silentLogger });
  const start = async (more?: Partial<NginxOptions>): Promise<void> => {
    driver = make(more);
    ports = await driver.start();
  };
  const upstream = (): Upstream => ({
    id: 'p',
    namespace: 'n',
    service: 's',
    protocol: 'http',
    balance: 'roundRobin',
    endpoints: [{ address: '127.0.0.1', port: (backend.address() as AddressInfo).port }],
  });
  const host = (name: string, ...paths: string[]): HostRoutes => ({
    host: name,
    namespace: 'n',
    routes: paths.map((path) => ({
      path,
      match: 'Prefix',
      headers: [],
      action: {
        backends: [{ upstream: 'p', weight: 1 }],
        limits: {},
        source: { kind: 'Ingress', namespace: 'n', name: 'i', rule: 0, path: 0 },
      },
    })),
  });
  const change = async (more: Partial<Delta>): Promise<void> => {
    const delta = {
      from: generation,
      to: generation + 1,
      hosts: NONE,
      upstreams: NONE,
      certificates: NONE,
      ...more,
    };
    await driver.apply(delta);
    generation++;
  };
  const set = <V>(...values: V[]): { set: V[]; remove: never[] } => ({ set: values, remove: [] });
  /** On a new connection. */
  const ask = (name: string, path = '/'): Promise<number> =>
    new Promise((resolve, reject) => {
      request({ port: ports.http, path, headers: { host: name }, agent: false }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });

  it('keeps its processes and its configuration through all changes', async () => {
    await start();
    const runtime = runtimeOf(directory);
    const before = {
      ...(await driver.processes()),
      config: readFileSync(join(runtime, 'nginx.conf'), 'utf8'),
    };
    const pair = new TestAuthority().issue(['a.io']);
    for (let i = 0; i < 30; i++) {
      await change({
        hosts: set(host(`h${i}.io`, '/')),
        upstreams: set(upstream()),
        certificates: set({ host: `h${i}.io`, secret: 'n/t', fingerprint: String(i), ...pair }),
      });
      expect(await ask(`h${i}.io`)).toBe(200);
    }
    const after = {
      ...(await driver.processes()),
      config: readFileSync(join(runtime, 'nginx.conf'), 'utf8'),
    };
    expect(after).toEqual(before);
    expect(before.workers).toHaveLength(2);
  });

  it('makes the control socket accessible to the agent only', async () => {
    await start();
    expect(statSync(join(runtimeOf(directory), 'control')).mode & 0o777).toBe(0o700);
    expect(statSync(join(runtimeOf(directory), 'nginx.conf')).mode & 0o777).toBe(0o600);
  });

  it('replaces a worker that was killed by one with all routes', async () => {
    await start();
    await change({ hosts: set(host('a.io', '/')), upstreams: set(upstream()) });
    const { master, workers } = await driver.processes();
    process.kill(workers[0]!, 'SIGKILL');
    await expect
      .poll(async () => (await driver.processes()).workers.filter((pid) => !workers.includes(pid)).length)
      .toBe(1);
    expect((await driver.processes()).master).toBe(master);
    for (let i = 0; i < 20; i++) expect(await ask('a.io')).toBe(200);
  });

  it('replaces a master that was killed, on the same ports and with all routes', async () => {
    await start();
    await change({ hosts: set(host('a.io', '/')), upstreams: set(upstream()) });
    const before = await driver.processes();
    process.kill(before.master, 'SIGKILL');
    await expect.poll(() => driver.health().ready).toBe(false);
    await expect.poll(() => driver.health().ready).toBe(true);
    expect((await driver.processes()).master).not.toBe(before.master);
    await expect.poll(() => before.workers.filter(isAlive)).toEqual([]);
    expect(await ask('a.io')).toBe(200);
    await change({ hosts: set(host('b.io', '/')) });
    expect(await ask('b.io')).toBe(200);
  });

  it('asks for a full state while nginx is not running', async () => {
    driver = make();
    await expect(change({})).rejects.toThrow(NeedsFullState);
  });

  it('rejects a change that does not fit, and keeps serving', async () => {
    await start({ memory: { hosts: 256 * 1024 } });
    const paths = Array.from({ length: 40 }, (_, i) => `/${i}`);
    await change({ hosts: set(host('a.io', '/'), host('b.io', '/old')), upstreams: set(upstream()) });
    const tooMany = Array.from({ length: 100 }, (_, i) => host(`h${i}.io`, ...paths));
    await expect(
      change({ hosts: { set: [host('b.io', '/new'), ...tooMany], remove: ['a.io'] } }),
    ).rejects.toThrow(CapacityError);
    expect(await ask('a.io')).toBe(200);
    expect([await ask('b.io', '/old'), await ask('b.io', '/new')]).toEqual([200, 404]);
    expect(await ask('h0.io', '/1')).toBe(404);
    await change({ hosts: set(host('c.io', '/')) });
    expect(await ask('c.io')).toBe(200);
  });

  it('does not start with a table that does not fit, and starts without it', async () => {
    driver = make({ memory: { hosts: 256 * 1024 } });
    const paths = Array.from({ length: 40 }, (_, i) => `/${i}`);
    const hosts = Array.from({ length: 100 }, (_, i) => host(`h${i}.io`, ...paths));
    const first = { from: 0, to: 1, hosts: set(...hosts), upstreams: set(upstream()), certificates: NONE };
    await expect(driver.start(first)).rejects.toThrow(CapacityError);
    ports = await driver.start();
    expect(driver.health().ready).toBe(false);
    expect(await ask('h0.io', '/1')).toBe(503);
    await change({ hosts: set(host('a.io', '/')), upstreams: set(upstream()) });
    expect(await ask('a.io')).toBe(200);
  });

  it('deletes the file with the private keys of the initial table', async () => {
    driver = make();
    const certificate = {
      host: 'a.io',
      secret: 'n/t',
      fingerprint: '1',
      ...new TestAuthority().issue(['a.io']),
    };
    ports = await driver.start({
      from: 0,
      to: 1,
      hosts: NONE,
      upstreams: NONE,
      certificates: set(certificate),
    });
    expect(readdirSync(runtimeOf(directory)).sort()).toEqual([
      'control',
      'nginx.conf',
      'nginx.pid',
      'temporary',
    ]);
  });

  it('exports the free memory of the dictionaries', async () => {
    await start();
    const free = async (): Promise<number> => {
      const text = await driver.metrics();
      return Number(/memory_free_bytes\{class="gold",dictionary="hosts"\} (\d+)/.exec(text)?.[1]);
    };
    const before = await free();
    await change({ hosts: set(...Array.from({ length: 500 }, (_, i) => host(`h${i}.io`, '/', '/a'))) });
    expect(await free()).toBeLessThan(before);
  });

  it('limits an HTTP/2 body without a Content-Length', async () => {
    await start({ defaults: { connectTimeoutMs: 1000, readTimeoutMs: 5000, maxBodyBytes: 1000 } });
    await change({ hosts: set(host('a.io', '/')), upstreams: set(upstream()) });
    const session = connect(`https://127.0.0.1:${ports.https}`, { rejectUnauthorized: false });
    const post = (bytes: number): Promise<unknown> => {
      const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'a.io' });
      const status = new Promise((resolve) =>
        stream.once('response', (headers) => resolve(headers[':status'])),
      );
      stream.resume().end(Buffer.alloc(bytes));
      return status;
    };
    expect([await post(1000), await post(1001), await post(100_000), await post(0)]).toEqual([
      200, 413, 413, 200,
    ]);
    session.destroy();
  });

  it('sends a large state in several messages', async () => {
    await start();
    const hosts = Array.from({ length: 3000 }, (_, i) => host(`h${i}.io`, '/', '/a', '/b'));
    await change({ hosts: set(...hosts), upstreams: set(upstream()) });
    for (const i of [0, 1500, 2999]) expect(await ask(`h${i}.io`)).toBe(200);
  });

  it('stops the nginx of an agent that was killed, and removes its files', async () => {
    const former = await Nginx.start(optionsIn(directory), silentLogger);
    const runtime = runtimeOf(directory);
    await start({ httpPort: former.listening.http });
    expect(isAlive(former.pid!)).toBe(false);
    expect(() => statSync(runtime)).toThrow('ENOENT');
  });

  it('reports why nginx does not start', async () => {
    driver = make({ httpPort: (backend.address() as AddressInfo).port });
    await expect(driver.start()).rejects.toThrow(/nginx did not start: .*Address already in use/);
  });

  it('leaves no files and processes behind', async () => {
    await start();
    const runtime = runtimeOf(directory);
    const { master, workers } = await driver.processes();
    await driver.close();
    expect([master, ...workers].filter(isAlive)).toEqual([]);
    expect(() => statSync(runtime)).toThrow('ENOENT');
    expect(readdirSync(directory)).toEqual(['default-certificate.pem']);
  });
});

const optionsIn = (directory: string): NginxOptions => ({
  address: '127.0.0.1',
  httpPort: 0,
  httpsPort: 0,
  directory,
  className: 'gold',
  defaults: { connectTimeoutMs: 1000, readTimeoutMs: 5000, maxBodyBytes: 0 },
  workers: 2,
});

const runtimeOf = (directory: string): string => readlinkSync(join(directory, 'nginx.runtime'));

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
