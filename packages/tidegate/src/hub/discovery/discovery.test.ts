import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fixedCredential, Metrics, silentLogger, systemClock } from '@tidegate/kube';
import { type ApiError, Exchange, requestTarget } from '@tidegate/serving';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Identity } from '../identity/identity.ts';
import { SmallApi } from '../upstream/testing/api.ts';
import { Relay } from '../upstream/testing/relay.ts';
import { Upstream } from '../upstream/upstream.ts';
import { DiscoveryCache } from './cache.ts';
import type { DocumentMap } from './documents.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const KUBECTL = `${AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json`;
const TIMINGS = {
  intervalMs: 3_600_000,
  maxIntervalMs: 3_600_000,
  downIntervalMs: 20,
  timeoutMs: 240_000,
  maxTimeoutMs: 240_000,
  hungMs: 240_000,
};
const SERVICE_ACCOUNT: Identity = {
  kind: 'bearer',
  key: 'sa:a:b:c',
  token: 'mine',
  tokenKey: 'k',
  peer: async () => 'local',
};
const ANONYMOUS: Identity = { kind: 'anonymous', key: 'anonymous' };

class MemoryMap extends Map<string, Buffer> {
  writes = 0;

  asDurable(): DocumentMap {
    return {
      get: async (key) => super.get(key),
      keys: (prefix) => [...super.keys()].filter((key) => key.startsWith(prefix)),
      put: (key, value) => {
        this.writes++;
        super.set(key, value);
      },
      delete: (key) => void super.delete(key),
    };
  }
}

/** The documents of an API server, by path, or by `aggregated <path>`. */
class Cluster {
  readonly api = new SmallApi();
  readonly documents = new Map<string, string>();
  /** Whether the server is older than 1.26 and has no aggregated discovery. */
  old = false;

  constructor() {
    this.put('/version', { major: '1' });
    this.groups({ apps: ['deployments'] });
    this.api.answer = ({ url = '', headers }, response) => {
      const path = new URL(url, 'http://api').pathname;
      const aggregated = !this.old && (headers.accept ?? '').includes('APIGroupDiscoveryList');
      const body =
        (aggregated ? this.documents.get(`aggregated ${path}`) : undefined) ?? this.documents.get(path);
      if (body === undefined) {
        response.writeHead(404).end('404 page not found\n');
        return;
      }
      const etag = `"${body.length}-${path}"`;
      const tagged = aggregated || path.startsWith('/openapi');
      const isForm = aggregated && this.documents.has(`aggregated ${path}`);
      response.setHeader('content-type', isForm ? AGGREGATED : 'application/json');
      if (tagged) response.setHeader('etag', etag);
      if (tagged && headers['if-none-match'] === etag) {
        response.writeHead(304).end();
        return;
      }
      const zipped = headers['accept-encoding'] === 'gzip' && body.length > 200;
      if (zipped) response.setHeader('content-encoding', 'gzip');
      response.end(zipped ? gzipSync(body) : body);
    };
  }

  put(path: string, document: unknown): void {
    this.documents.set(path, JSON.stringify(document));
  }

  groups(groups: Record<string, string[]>): void {
    const resources = (names: string[]) => names.map((name) => ({ resource: name, name }));
    const item = (name: string, version: string, names: string[]) => ({
      metadata: { name },
      versions: [{ version, resources: resources(names) }],
    });
    this.put('/api', { kind: 'APIVersions', versions: ['v1'] });
    this.put('aggregated /api', { items: [item('', 'v1', ['pods'])] });
    this.put('/api/v1', { resources: resources(['pods']) });
    this.put('/apis', {
      groups: Object.keys(groups).map((name) => ({ name, versions: [{ groupVersion: `${name}/v1` }] })),
    });
    this.put('aggregated /apis', {
      items: Object.entries(groups).map(([name, names]) => item(name, 'v1', names)),
    });
    for (const [name, names] of Object.entries(groups)) {
      this.put(`/apis/${name}/v1`, { resources: resources(names) });
    }
  }
}

describe('discovery', () => {
  let cluster: Cluster;
  let way: Relay;
  let upstream: Upstream;
  let map: MemoryMap;
  let cache: DiscoveryCache;
  let hub: Server;
  let identity: Identity;
  let tokens: string[];
  let stop: AbortController;
  let running: Promise<void>[];

  beforeEach(async () => {
    cluster = new Cluster();
    await cluster.api.start();
    way = await new Relay(cluster.api.port).open();
    upstream = await Upstream.open({
      servers: [`http://127.0.0.1:${way.port}`],
      mode: 'rr',
      nodeCredentials: fixedCredential({ authorization: 'Bearer node' }),
      userAgent: 'test',
      clock: systemClock,
      log: silentLogger,
      metrics: new Metrics(),
      timings: TIMINGS,
    });
    map = new MemoryMap();
    identity = SERVICE_ACCOUNT;
    tokens = [];
    stop = new AbortController();
    running = [];
    cache = await open();
    hub = createServer(async (request, response) => {
      const exchange = new Exchange(request, response);
      try {
        const target = requestTarget(request.url ?? '');
        const served = await cache.serve({ exchange, target, identity, signal: stop.signal });
        if (!served) await exchange.text(418, 'not a document');
      } catch (error) {
        await exchange.status((error as ApiError).status);
      }
    });
    await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
    await upstream.close();
    hub.closeAllConnections();
    await new Promise((resolve) => hub.close(resolve));
    await way.cut();
    await cluster.api.stop();
  });

  const open = (): Promise<DiscoveryCache> =>
    DiscoveryCache.open({
      upstream,
      map: map.asDurable(),
      log: silentLogger,
      tokens: {
        prove: async ({ kind }) => void tokens.push(`prove ${kind}`),
        suspect: async ({ token }) => void tokens.push(`suspect ${token}`),
      },
    });

  interface Got {
    status: number;
    headers: IncomingHttpHeaders;
    body: string;
  }

  function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
    return new Promise((resolve, reject) => {
      const { port } = hub.address() as AddressInfo;
      const request = httpRequest({ port, path, headers, method, agent: false }, async (response) => {
        const bytes = await buffer(response);
        const body = response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: body.toString() });
      });
      request.on('error', reject).end();
    });
  }

  const asked = (): string[] => cluster.api.requests.map((request) => request.url ?? '');
  async function cut(): Promise<void> {
    await way.cut();
    await get('/version');
    await expect.poll(() => upstream.online).toBe(false);
  }
  async function mend(): Promise<void> {
    await way.open();
    await expect.poll(() => upstream.online).toBe(true);
  }
  /** The API server has answered before the hub stores the response. */
  const kept = (path: string, text: string) =>
    expect.poll(() => map.get(`discovery ${path} application/json`)?.toString() ?? '').toContain(text);
  function run(): void {
    running.push(cache.run(stop.signal));
  }

  it('asks the API server with the token of the client, and serves the stored response offline', async () => {
    const online = await get('/version');
    expect(JSON.parse(online.body)).toEqual({ major: '1' });
    expect(cluster.api.requests[0]!.headers.authorization).toBe('Bearer mine');
    expect(tokens).toEqual([]);
    cluster.put('/version', { major: '2' });
    expect(JSON.parse((await get('/version')).body)).toEqual({ major: '2' });
    await cut();
    const offline = await get('/version/?timeout=32s');
    expect(tokens).toContain('prove bearer');
    expect(offline).toMatchObject({ status: 200, body: '{"major":"2"}' });
    expect(offline.headers['content-type']).toBe('application/json');
    // The documents survive a restart.
    cache = await open();
    expect((await get('/version')).body).toBe('{"major":"2"}');
  });

  it('serves nothing to anonymous clients offline, and no document that was never requested', async () => {
    await get('/version');
    await cut();
    expect(JSON.parse((await get('/apis/apps')).body)).toMatchObject({
      code: 503,
      reason: 'ServiceUnavailable',
    });
    identity = ANONYMOUS;
    expect((await get('/version')).status).toBe(401);
  });

  it('stores each format of a document, and serves the one that the client prefers', async () => {
    const forms = async () => [
      (await get('/apis', { accept: KUBECTL })).headers['content-type'],
      (await get('/apis', { accept: 'application/json' })).headers['content-type'],
      (await get('/apis')).headers['content-type'],
    ];
    expect(await forms()).toEqual([AGGREGATED, 'application/json', 'application/json']);
    await cut();
    expect(await forms()).toEqual([AGGREGATED, 'application/json', 'application/json']);
    expect((await get('/apis', { accept: 'application/yaml' })).status).toBe(503);
  });

  it('uses ETags towards the server and towards the client', async () => {
    const { headers, body } = await get('/apis', { accept: KUBECTL });
    const writes = map.writes;
    const again = await get('/apis', { accept: KUBECTL });
    expect(again.body).toBe(body);
    expect(cluster.api.requests[1]!.headers['if-none-match']).toBe(headers.etag);
    expect(map.writes).toBe(writes);
    const known = await get('/apis', { accept: KUBECTL, 'if-none-match': headers.etag ?? '' });
    expect(known).toMatchObject({ status: 304, body: '' });
    cluster.groups({ apps: ['deployments'], 'example.com': ['widgets'] });
    const changed = await get('/apis', { accept: KUBECTL, 'if-none-match': headers.etag ?? '' });
    expect(changed.status).toBe(200);
    expect(changed.body).toContain('widgets');
  });

  it('stores compressed documents, and decompresses them for clients that do not accept gzip', async () => {
    const long = { info: 'x'.repeat(1_000) };
    cluster.put('/openapi/v3/api/v1', long);
    const plain = await get('/openapi/v3/api/v1?hash=1');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(plain.body)).toEqual(long);
    await cut();
    const zipped = await get('/openapi/v3/api/v1?hash=1', { 'accept-encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(zipped.body)).toEqual(long);
  });

  it('passes errors on, and deletes documents that no longer exist', async () => {
    await get('/apis/apps/v1');
    cluster.documents.delete('/apis/apps/v1');
    expect(await get('/apis/apps/v1')).toMatchObject({ status: 404, body: '404 page not found\n' });
    cluster.api.answer = (_, response) => response.writeHead(401).end();
    expect((await get('/version')).status).toBe(401);
    expect(tokens.at(-1)).toBe('suspect mine');
    await cut();
    expect((await get('/apis/apps/v1')).status).toBe(503);
  });

  it('stores the answer to the path alone: queries, conditions and ranges of the client do not reach the server', async () => {
    expect((await get('/apis?pretty=1')).status).toBe(418);
    expect((await get('/apis?timeout=abc')).status).toBe(418);
    await get('/apis/?timeout=32s', {
      range: 'bytes=0-3',
      'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT',
    });
    const [request] = cluster.api.requests;
    expect(request!.url).toBe('/apis');
    expect(request!.headers).not.toHaveProperty('range');
    expect(request!.headers).not.toHaveProperty('if-modified-since');
  });

  it('does not store the answer to a media type with parameters that it does not know', async () => {
    const full = (await get('/apis', { accept: AGGREGATED })).body;
    // API servers with this parameter leave out what other API servers of the cluster serve.
    cluster.documents.set('aggregated /apis', JSON.stringify({ items: [] }));
    expect((await get('/apis', { accept: `${AGGREGATED};profile=nopeer` })).status).toBe(418);
    expect((await get('/apis', { accept: `application/json, ${AGGREGATED};profile=nopeer` })).status).toBe(
      418,
    );
    await cut();
    expect((await get('/apis', { accept: AGGREGATED })).body).toBe(full);
  });

  it('does not serve other paths', async () => {
    for (const path of [
      '/readyz',
      '/healthz',
      '/livez/ping',
      '/metrics',
      '/',
      '/api/v1/pods',
      '/apis/a/b/c',
    ]) {
      expect((await get(path)).status, path).toBe(418);
    }
    expect((await get('/version', {}, 'HEAD')).status).toBe(418);
  });

  describe('the background task', () => {
    const BASICS = ['/version', '/api', '/apis', '/api', '/apis', '/api/v1', '/apis/apps/v1'];

    it('fetches all documents at start, and only changed ones when the link is restored', async () => {
      run();
      await expect.poll(asked).toEqual(BASICS);
      expect(cluster.api.requests.every(({ headers }) => headers.authorization === 'Bearer node')).toBe(true);
      await kept('/apis/apps/v1', 'deployments');
      await cut();
      expect((await get('/apis', { accept: KUBECTL })).body).toContain('deployments');
      expect((await get('/apis/apps/v1')).body).toContain('deployments');

      cluster.api.requests.length = 0;
      await mend();
      await expect.poll(asked).toEqual(['/version', '/api', '/apis']);
      await cut();

      cluster.api.requests.length = 0;
      cluster.groups({ apps: ['deployments'], 'example.com': ['widgets'] });
      await mend();
      await expect
        .poll(asked)
        .toEqual(['/version', '/api', '/apis', '/api', '/apis', '/apis/example.com/v1']);
      await kept('/apis/example.com/v1', 'widgets');
      await cut();

      cluster.groups({ 'example.com': ['widgets', 'gadgets'] });
      await mend();
      await kept('/apis/example.com/v1', 'gadgets');
      await expect.poll(() => map.has('discovery /apis/apps/v1 application/json')).toBe(false);
      await cut();
      expect((await get('/apis/example.com/v1')).body).toContain('gadgets');
      expect((await get('/apis/apps/v1')).status).toBe(503);
    });

    it('fetches them from a server without aggregated discovery', async () => {
      cluster.old = true;
      run();
      await expect.poll(asked).toEqual(BASICS);
      await kept('/apis/apps/v1', 'deployments');
      await cut();
      expect((await get('/apis', { accept: KUBECTL })).body).toContain('apps/v1');
      expect((await get('/api/v1')).body).toContain('pods');
    });

    it('waits for the link if it starts offline', async () => {
      await cut();
      run();
      await mend();
      await expect.poll(asked).toEqual(BASICS);
    });
  });
});
