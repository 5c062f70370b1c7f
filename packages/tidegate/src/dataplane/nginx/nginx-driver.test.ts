import { randomInt } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sectionPorts } from '../../api/index.ts';
import type { Delta, HostRoutes, Upstream } from '../../ingress/model.ts';
import { TestAuthority } from '../../ingress/testing/certificates.ts';
import { CapacityError, type Listening, NeedsFullState } from '../driver.ts';
import { NginxDriver } from './index.ts';
import { Nginx, type NginxOptions } from './nginx.ts';
import { Relays } from './relays.ts';

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

  const many = (namespace: string, count: number): HostRoutes[] =>
    Array.from({ length: count }, (_, i) => ({
      ...host(`h${i}.${namespace}.io`, ...Array.from({ length: 40 }, (_, at) => `/${at}`)),
      namespace,
    }));

  it('closes hosts of the namespace that fills the memory, and applies all other changes', async () => {
    await start({ memory: { hosts: 256 * 1024 } });
    await change({ hosts: set(host('a.io', '/'), host('b.io', '/old')), upstreams: set(upstream()) });
    await change({ hosts: { set: [host('b.io', '/new'), ...many('evil', 100)], remove: ['a.io'] } });
    expect([await ask('b.io', '/old'), await ask('b.io', '/new')]).toEqual([404, 200]);
    expect(await ask('a.io')).toBe(404);
    expect(await ask('h0.evil.io', '/1')).toBe(200);
    expect(await ask('h99.evil.io', '/1')).toBe(503);
    expect(driver.health()).toMatchObject({
      ready: true,
      warnings: [expect.stringMatching(/The memory of nginx is full.*[0-9]+ hosts \(h[0-9]+\.evil\.io, /)],
    });
    await change({ hosts: set(host('c.io', '/')) });
    expect(await ask('c.io')).toBe(200);
    const gone = many('evil', 100).map((each) => each.host);
    await change({ hosts: { set: [], remove: gone.slice(0, 95) } });
    expect(await ask('h99.evil.io', '/1')).toBe(200);
    expect(driver.health().warnings).toBeUndefined();
  });

  it('closes paths whose users do not fit, and no others', async () => {
    await start({ memory: { credentials: 512 * 1024 } });
    const withUsers = (name: string, namespace: string): HostRoutes => {
      const { routes, ...rest } = host(name, '/');
      const policy = { basic: { credentials: `${namespace}/${name}`, realm: 'r' } };
      return {
        ...rest,
        namespace,
        routes: routes.map((route) => ({ ...route, action: { ...route.action, policy } })),
      };
    };
    const hash = '{SHA}dIdTy8nGNNtl+hZJ2NYzvOB7CZ8=';
    const users = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`user${at}`, hash]));
    const evil = Array.from({ length: 12 }, (_, at) => `e${at}.io`);
    await change({
      hosts: set(withUsers('good.io', 'good'), ...evil.map((name) => withUsers(name, 'evil'))),
      upstreams: set(upstream()),
      credentials: set(...evil.map((name) => ({ id: `evil/${name}`, users: users(1_000) })), {
        id: 'good/good.io',
        users: users(500),
      }),
    });
    expect(await ask('good.io')).toBe(401);
    const answers = await Promise.all(evil.map((name) => ask(name)));
    expect(new Set(answers)).toEqual(new Set([401, 503]));
    expect(driver.unserved()).toEqual(
      evil.flatMap((name, at) => (answers[at] === 503 ? [{ kind: 'credentials', key: `evil/${name}` }] : [])),
    );
    await change({ hosts: set(host('c.io', '/')) });
    expect(await ask('c.io')).toBe(200);
  });

  it('finds no host of a section on the ports of no section', async () => {
    // The ports of sections are fixed.
    const address = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
    await start({ address, sections: 1 });
    await change({ hosts: set(host('1:a.io', '/'), host('1:#')), upstreams: set(upstream()) });
    const at = (port: number, name: string): Promise<number> =>
      new Promise((resolve, reject) => {
        request({ host: address, port, headers: { host: name }, agent: false }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0));
        })
          .on('error', reject)
          .end();
      });
    expect(await at(sectionPorts(1).http, 'a.io')).toBe(200);
    // The first request would fill the cache of the worker.
    for (let repeat = 0; repeat < 5; repeat++)
      expect([await at(ports.http, '1:a.io'), await at(ports.http, 'a.io')]).toEqual([400, 503]);
  });

  it('closes a host that is too large by itself', async () => {
    await start({ memory: { hosts: 512 * 1024 } });
    const large = host('large.io', ...Array.from({ length: 5_000 }, (_, at) => `/${'x'.repeat(90)}${at}`));
    await change({ hosts: set(large, host('a.io', '/')), upstreams: set(upstream()) });
    expect([await ask('a.io'), await ask('large.io')]).toEqual([200, 503]);
  });

  /** More hosts than fit, even if all of them are closed. */
  const tooMany = (): HostRoutes[] => Array.from({ length: 2_000 }, (_, i) => host(`h${i}.io`, '/1'));

  it('rejects a change that does not fit, and keeps serving', async () => {
    await start({ memory: { hosts: 256 * 1024 } });
    await change({ hosts: set(host('a.io', '/'), host('b.io', '/old')), upstreams: set(upstream()) });
    await expect(
      change({ hosts: { set: [host('b.io', '/new'), ...tooMany()], remove: ['a.io'] } }),
    ).rejects.toThrow(CapacityError);
    expect(await ask('a.io')).toBe(200);
    expect([await ask('b.io', '/old'), await ask('b.io', '/new')]).toEqual([200, 404]);
    expect(await ask('h0.io', '/1')).toBe(404);
    await change({ hosts: set(host('c.io', '/')) });
    expect(await ask('c.io')).toBe(200);
  });

  it('does not start with a table that does not fit, and starts without it', async () => {
    driver = make({ memory: { hosts: 256 * 1024 } });
    const hosts = set(...tooMany());
    const first = { from: 0, to: 1, hosts, upstreams: set(upstream()), certificates: NONE };
    await expect(driver.start(first)).rejects.toThrow(CapacityError);
    ports = await driver.start();
    expect(driver.health().ready).toBe(false);
    expect(await ask('h0.io', '/1')).toBe(503);
    await change({ hosts: set(host('a.io', '/')), upstreams: set(upstream()) });
    expect(await ask('a.io')).toBe(200);
  });

  it('starts with what fits of a table', async () => {
    driver = make({ memory: { hosts: 256 * 1024 } });
    const hosts = [...many('evil', 100), host('a.io', '/')];
    const first = { from: 0, to: 1, hosts: set(...hosts), upstreams: set(upstream()), certificates: NONE };
    ports = await driver.start(first);
    expect(driver.health().ready).toBe(true);
    expect([await ask('a.io'), await ask('h0.evil.io', '/1'), await ask('h99.evil.io', '/1')]).toEqual([
      200, 200, 503,
    ]);
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
      expect.stringMatching(/^relays-/),
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
    const former = await Nginx.start(optionsIn(directory), {
      log: silentLogger,
      relays: new Relays(silentLogger, 1000),
    });
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
