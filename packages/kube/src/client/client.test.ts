import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterConfig, Credential } from '../config/cluster.ts';
import { noLabel } from '../selectors/index.ts';
import { FakeServer, WIDGETS } from '../testing/fake-server.ts';
import { answerJson, RestObjects } from '../testing/rest.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { KubeClient } from './client.ts';
import {
  ApiStatusError,
  ConnectionError,
  DeadlineError,
  isExpired,
  isForbidden,
  isNotFound,
  isTooManyRequests,
} from './errors.ts';
import { pathOf } from './resource.ts';
import type { TransportOptions } from './transport.ts';

const NODES = { group: '', version: 'v1', resource: 'nodes', namespaced: false };

describe('client', () => {
  let server: FakeServer;
  let config: ClusterConfig;
  const clients: KubeClient[] = [];

  beforeEach(async () => {
    server = new FakeServer();
    config = await server.start();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await server.stop();
  });

  function connect(overrides: Partial<ClusterConfig> = {}, options: TransportOptions = {}): KubeClient {
    const client = new KubeClient({ ...config, ...overrides }, options);
    clients.push(client);
    return client;
  }

  const failure = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => expect.unreachable('it should have failed'),
      (error: unknown) => error,
    );

  it('sends its user agent and the impersonated user', async () => {
    const client = connect(
      { impersonate: { user: 'jane', uid: '7', groups: ['a', 'b'], extra: { 'acme/x': ['1'] } } },
      { userAgent: 'kit/1.0' },
    );
    await client.list(WIDGETS);
    expect(server.requests[0]!.headers).toMatchObject({
      'user-agent': 'kit/1.0',
      accept: 'application/json',
      'impersonate-user': 'jane',
      'impersonate-uid': '7',
      'impersonate-group': 'a, b',
      'impersonate-extra-acme%2fx': '1',
    });
  });

  it('creates, reads, updates, patches and deletes', async () => {
    server.intercept = new RestObjects().answer;
    const client = connect();
    const target = { namespace: 'ns', name: 'w' };
    const metadata = { ...target };
    const created = await client.create(
      WIDGETS,
      { apiVersion: 'example.com/v1', kind: 'Widget', metadata, size: 1 },
      { dryRun: true, fieldManager: 'me', fieldValidation: 'Strict' },
    );
    expect(server.requests[0]!.url.search).toBe('?dryRun=All&fieldManager=me&fieldValidation=Strict');
    expect(await client.get(WIDGETS, target)).toEqual(created);
    await client.update(WIDGETS, { ...created, size: 2 });
    expect((await failure(client.update(WIDGETS, created))) as ApiStatusError).toMatchObject({
      code: 409,
      reason: 'Conflict',
    });
    expect(await client.patch(WIDGETS, target, 'merge', { size: 3 })).toMatchObject({ size: 3 });
    await client.delete(WIDGETS, target, {
      propagationPolicy: 'Foreground',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
    });
    expect(JSON.parse(server.requests.at(-1)!.body)).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Foreground',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
    });
    const gone = await failure(client.get(WIDGETS, target));
    expect(isNotFound(gone)).toBe(true);
    expect((gone as ApiStatusError).request).toBe(
      `GET ${config.server}/apis/example.com/v1/namespaces/ns/widgets/w`,
    );
  });

  it('lists page by page, and sets the kind of every item', async () => {
    for (let i = 0; i < 7; i++) server.put(`w${i}`);
    const client = connect();
    const list = await client.list(WIDGETS, { limit: 3, labelSelector: 'a=b' });
    expect(list.items.map((w) => w.metadata.name)).toEqual(['w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6']);
    expect(list.items[0]).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Widget' });
    expect(list.metadata.continue).toBeUndefined();
    expect(server.requests.map((r) => r.url.searchParams.get('continue'))).toEqual([null, '107:3', '107:6']);
    expect(server.requests.every((r) => r.url.searchParams.get('labelSelector') === 'a=b')).toBe(true);
    const sizes: number[] = [];
    for await (const page of client.pages(WIDGETS, { limit: 5 })) sizes.push(page.items.length);
    expect(sizes).toEqual([5, 2]);
  });

  it('lists in one piece when the continue token expires', async () => {
    for (let i = 0; i < 4; i++) server.put(`w${i}`);
    const pages = connect().pages(WIDGETS, { limit: 2 });
    await pages.next();
    server.put('w4');
    server.compact();
    expect(isExpired(await failure(pages.next()))).toBe(true);
    server.intercept = ({ url }) => {
      if (url.searchParams.has('continue')) {
        server.put('w5');
        server.compact();
      }
      return false;
    };
    const list = await connect().list(WIDGETS, { limit: 2 });
    expect(list.items.map((w) => w.metadata.name)).toEqual(['w0', 'w1', 'w2', 'w3', 'w4', 'w5']);
  });

  it('never sends a selector that matches nothing as one that matches everything', async () => {
    await expect(connect().list(WIDGETS, { labelSelector: noLabel() })).rejects.toThrow('matches nothing');
    expect(server.requests).toEqual([]);
  });

  it('builds paths, and rejects names that would change their meaning', () => {
    expect(pathOf(NODES, { name: 'a b', subresource: 'status' })).toBe('/api/v1/nodes/a%20b/status');
    expect(pathOf(WIDGETS, {})).toBe('/apis/example.com/v1/widgets');
    expect(() => pathOf(NODES, { name: '' })).toThrow('cannot be the name');
    expect(() => pathOf(NODES, { name: '..' })).toThrow('cannot be the name');
    // Clients resolve dot segments: this would be the path of the Namespace `victim`.
    const up = { group: '', version: 'v1', resource: '..', namespaced: true };
    expect(() => pathOf(up, { namespace: 'mine', name: 'victim' })).toThrow('cannot be a part of a path');
    expect(() => pathOf({ ...WIDGETS, version: '..' })).toThrow('cannot be a part of a path');
    expect(() => pathOf({ ...WIDGETS, namespaced: true }, { namespace: '.' })).toThrow('a part of a path');
    expect(() => pathOf(WIDGETS, { name: 'w' })).toThrow('a namespace is required');
  });

  it('reads compressed answers', async () => {
    server.intercept = (request, response) => {
      expect(request.headers['accept-encoding']).toBe('gzip');
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"kind":"Widget","x":"ü"}'));
      return true;
    };
    expect(await connect().get(NODES, { name: 'n' })).toEqual({ kind: 'Widget', x: 'ü' });
  });

  it('waits as long as an overloaded server asks, and retries', async () => {
    const clock = new VirtualClock();
    server.failNext({ code: 429, headers: { 'retry-after': '5' } });
    server.failNext({ code: 503, headers: { 'retry-after': '1' } });
    const listing = connect({}, { clock }).list(WIDGETS);
    await advanceUntil(clock, () => server.requests.length === 3);
    await listing;
    expect(clock.now() - Date.UTC(2026, 0, 1)).toBeGreaterThanOrEqual(6_000);
  });

  it('gives up after a few attempts, with the error of the server', async () => {
    const clock = new VirtualClock();
    for (let i = 0; i < 3; i++) server.failNext({ code: 429, headers: { 'retry-after': '1' } });
    const failed = failure(connect({}, { clock, maxRetries: 2 }).list(WIDGETS));
    await advanceUntil(clock, () => server.requests.length === 3);
    expect(isTooManyRequests(await failed)).toBe(true);
  });

  it('rejects with the error of the server if its deadline would pass while it waits', async () => {
    server.failNext({ code: 503, headers: { 'retry-after': '5' }, body: 'disconnected' });
    const failed = failure(connect().get(NODES, { name: 'n' }, { deadlineMs: 5_000 }));
    expect(await failed).toMatchObject({ code: 503, message: 'disconnected' });
    expect(server.requests).toHaveLength(1);
  });

  it('rejects a watch with the error of the server if it would wait longer than the deadline', async () => {
    server.failNext({ code: 503, headers: { 'retry-after': '30' }, body: 'disconnected' });
    const client = connect({}, { deadlineMs: 20_000 });
    const watching = client.watch(WIDGETS, { resourceVersion: '1' });
    expect(await failure(watching)).toMatchObject({ code: 503, message: 'disconnected' });
  });

  it('does not retry final errors, or a write that may have been carried out', async () => {
    const client = connect();
    server.failNext({ code: 500, body: 'boom' });
    expect(await failure(client.list(WIDGETS))).toMatchObject({ code: 500, message: 'boom' });
    server.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'ns' } };
    expect(await failure(client.create(WIDGETS, object))).toBeInstanceOf(ConnectionError);
    expect(server.requests).toHaveLength(2);
  });

  it('retries a read when the connection breaks, before or during the answer', async () => {
    let attempts = 0;
    server.intercept = (_, response) => {
      attempts++;
      if (attempts === 3) return answerJson(response, { ok: true });
      if (attempts === 2) response.writeHead(200, { 'content-length': '100' }).write('{"half":');
      setTimeout(() => response.destroy(), 5);
      return true;
    };
    expect(await connect().raw({ method: 'GET', path: '/version' })).toEqual({ ok: true });
    expect(attempts).toBe(3);
  });

  it('ends at the deadline, and leaves no timers', async () => {
    const clock = new VirtualClock();
    server.intercept = () => true;
    const failed = failure(connect({}, { clock }).get(NODES, { name: 'n' }, { deadlineMs: 5_000 }));
    await advanceUntil(clock, () => server.requests.length === 1);
    await clock.advance(5_000);
    const error = await failed;
    expect(error).toBeInstanceOf(DeadlineError);
    expect((error as Error).message).toBe(`GET ${config.server}/api/v1/nodes/n: no answer within 5000 ms`);
    expect(clock.pending).toBe(0);
  });

  it('applies the deadline to credentials as well', async () => {
    const clock = new VirtualClock();
    const never = (): Promise<Credential> => new Promise(() => {});
    const client = connect({ credentials: { current: never, refresh: never } }, { clock });
    const failed = failure(client.list(WIDGETS));
    await clock.advance(32_000);
    expect(await failed).toBeInstanceOf(DeadlineError);
  });

  it('rejects with the reason of the abort', async () => {
    const stop = new AbortController();
    server.intercept = () => {
      stop.abort(new Error('enough'));
      return true;
    };
    await expect(connect().get(NODES, { name: 'n' }, { signal: stop.signal })).rejects.toThrow('enough');
  });

  it('rejects at once if it is aborted while it connects', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => {})));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const stop = new AbortController();
    const { port } = silent.address() as AddressInfo;
    const reading = failure(
      connect({ server: `https://127.0.0.1:${port}` }).get(NODES, { name: 'n' }, { signal: stop.signal }),
    );
    await expect.poll(() => sockets.length).toBe(1);
    stop.abort(new Error('enough'));
    // It does not wait until the attempt to connect is given up.
    const soon = new Promise((resolve) => setImmediate(resolve, 'still connecting'));
    expect(await Promise.race([reading, soon])).toMatchObject({ message: 'enough' });
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  it('reports the address that it could not connect to', async () => {
    const client = connect({ server: 'http://127.0.0.1:1' });
    const error = await failure(client.get(NODES, { name: 'n' }));
    expect((error as Error).message).toContain('GET http://127.0.0.1:1/api/v1/nodes/n: connect ECONNREFUSED');
  });

  it('requests another credential once when one is rejected', async () => {
    const first: Credential = { authorization: 'Bearer old' };
    const second: Credential = { authorization: 'Bearer new' };
    let current = first;
    const credentials = {
      current: async () => current,
      refresh: async () => {
        current = second;
        return current;
      },
    };
    server.failNext({ code: 401 });
    const client = connect({ credentials });
    await client.list(WIDGETS);
    expect(server.requests.map((r) => r.headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
    server.failNext({ code: 401 });
    expect(await failure(client.list(WIDGETS))).toMatchObject({ code: 401 });
  });

  it('creates a Status from any answer of a proxy', async () => {
    server.failNext({ code: 403, body: '<html>no</html>' });
    const error = await failure(connect().list(WIDGETS));
    expect(isForbidden(error)).toBe(true);
    expect(error).toMatchObject({ message: '<html>no</html>', status: { kind: 'Status', code: 403 } });
  });

  it('watches until the server ends the watch, and throws errors that arrive as events', async () => {
    const client = connect();
    const events = await client.watch(WIDGETS, { resourceVersion: '100' });
    server.put('a', { text: 'x'.repeat(200_000) });
    server.bookmark();
    server.end();
    const seen: string[] = [];
    for await (const event of events) seen.push(`${event.type} ${event.object.metadata.resourceVersion}`);
    expect(seen).toEqual(['ADDED 101', 'BOOKMARK 101']);
    const next = await client.watch(WIDGETS, { resourceVersion: '101' });
    server.sendError(410, 'Expired');
    expect(isExpired(await failure(next.next()))).toBe(true);
  });

  it('closes the connection of a watch when its reader stops', async () => {
    const client = connect();
    const events = await client.watch(WIDGETS, { resourceVersion: '100' });
    server.put('a');
    for await (const _ of events) break;
    await expect.poll(() => server.watchers).toBe(0);
  });
});

describe('discovery', () => {
  let server: FakeServer;
  let client: KubeClient;
  beforeEach(async () => {
    server = new FakeServer();
    client = new KubeClient(await server.start());
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const widget = { group: 'example.com', version: 'v1', kind: 'Widget' };

  it('reads aggregated discovery once, and again when a kind is missing', async () => {
    let installed = false;
    const item = (resource: string, kind: string): object => ({
      resource,
      responseKind: { kind },
      scope: 'Namespaced',
      verbs: ['get'],
      subresources: [{ subresource: 'status' }],
    });
    server.intercept = ({ url }, response) => {
      const versions = [{ version: 'v1', resources: installed ? [item('widgets', 'Widget')] : [] }];
      const items = url.pathname === '/apis' ? [{ metadata: { name: 'example.com' }, versions }] : [];
      return answerJson(response, { kind: 'APIGroupDiscoveryList', items });
    };
    await expect(client.discovery.forKind(widget)).rejects.toThrow(
      'the server has no kind "Widget" in version "example.com/v1"',
    );
    installed = true;
    const found = await client.discovery.forKind(widget);
    expect(found).toMatchObject({ ...WIDGETS, subresources: ['status'] });
    expect(await client.discovery.serves(WIDGETS)).toBe(true);
    expect(server.requests).toHaveLength(4);
  });

  it('reads unaggregated discovery, and skips a group that is down', async () => {
    server.intercept = ({ url }, response) => {
      switch (url.pathname) {
        case '/api':
          return answerJson(response, { kind: 'APIVersions', versions: ['v1'] });
        case '/apis':
          return answerJson(response, {
            kind: 'APIGroupList',
            groups: [
              { versions: [{ groupVersion: 'example.com/v1' }] },
              { versions: [{ groupVersion: 'metrics.k8s.io/v1beta1' }] },
            ],
          });
        case '/api/v1':
          return answerJson(response, {
            resources: [
              { name: 'pods', kind: 'Pod', namespaced: true, shortNames: ['po'] },
              { name: 'pods/log', kind: 'Pod', namespaced: true },
            ],
          });
        case '/apis/example.com/v1':
          return answerJson(response, { resources: [{ name: 'widgets', kind: 'Widget', namespaced: true }] });
        default:
          return answerJson(response, { kind: 'Status', code: 503, status: 'Failure' }, 503);
      }
    };
    const resources = await client.discovery.resources();
    expect(resources.map((r) => r.resource)).toEqual(['pods', 'widgets']);
    expect(resources[0]).toMatchObject({
      group: '',
      version: 'v1',
      subresources: ['log'],
      shortNames: ['po'],
    });
  });

  it('does not cache a failure', async () => {
    server.failNext({ code: 500 });
    await expect(client.discovery.resources()).rejects.toBeInstanceOf(ApiStatusError);
    server.intercept = (_, response) => answerJson(response, { kind: 'APIGroupDiscoveryList', items: [] });
    expect(await client.discovery.resources()).toEqual([]);
  });
});

async function advanceUntil(clock: VirtualClock, condition: () => boolean): Promise<void> {
  for (let i = 0; !condition(); i++) {
    if (i === 100_000) throw new Error('it never happened');
    await new Promise((resolve) => setTimeout(resolve, 1));
    await clock.advance(50);
  }
}
