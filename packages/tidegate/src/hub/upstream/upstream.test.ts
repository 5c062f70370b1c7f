import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixedCredential, Metrics, silentLogger, systemClock } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UpstreamUnavailable } from './errors.ts';
import type { ForwardRequest } from './forward.ts';
import { HEALTH_TIMINGS } from './health.ts';
import { SmallApi } from './testing/api.ts';
import { Relay } from './testing/relay.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

/** A server that works is never taken for an unreachable one, however busy the machine is. */
const TIMINGS = {
  intervalMs: 100,
  maxIntervalMs: 3_600_000,
  downIntervalMs: 30,
  timeoutMs: 240_000,
  maxTimeoutMs: 240_000,
  hungMs: 240_000,
};
/** No periodic probes. Only requests cause probes. */
const NEVER = { ...TIMINGS, intervalMs: 3_600_000 };
/** Only for servers that never respond. A server that works may be unhealthy for a moment too. */
const IMPATIENT = { ...TIMINGS, timeoutMs: 1_500, maxTimeoutMs: 3_000, hungMs: 3_000 };

const get = (path: string, more: Partial<ForwardRequest> = {}): ForwardRequest => ({
  method: 'GET',
  path,
  headers: {},
  credential: 'none',
  signal: new AbortController().signal,
  ...more,
});

const eventually = (what: () => boolean): Promise<void> =>
  expect.poll(what, { message: what.toString() }).toBe(true);

describe('upstream', () => {
  let api: SmallApi;
  let ways: Relay[];
  let upstreams: Upstream[];

  beforeEach(async () => {
    api = await new SmallApi().start();
    ways = [await new Relay(api.port).open(), await new Relay(api.port).open()];
    upstreams = [];
  });
  afterEach(async () => {
    await Promise.all(upstreams.map((upstream) => upstream.close()));
    await Promise.all(ways.map((way) => way.cut()));
    await api.stop();
  });

  async function open(options: Partial<UpstreamOptions> = {}): Promise<Upstream> {
    const upstream = await Upstream.open({
      servers: ways.map((way) => `http://127.0.0.1:${way.port}`),
      mode: 'priority',
      nodeCredentials: fixedCredential({ authorization: 'Bearer node' }),
      userAgent: 'tidegate-hub/test',
      clock: systemClock,
      log: silentLogger,
      metrics: new Metrics(),
      timings: NEVER,
      ...options,
    });
    upstreams.push(upstream);
    return upstream;
  }

  const url = (way: number): string => `http://127.0.0.1:${ways[way]!.port}`;
  const answeredBy = async (upstream: Upstream): Promise<string> => {
    const { server, body } = await upstream.forward(get('/api'));
    await text(body);
    return server;
  };
  const allHealthy = (upstream: Upstream) => eventually(() => upstream.servers().every((s) => s.healthy));

  it('forwards requests and responses unchanged', async () => {
    api.answer = (request, response) => {
      response.setHeader('warning', ['299 - "a"', '299 - "b"']);
      response.writeHead(201, { 'content-type': 'text/plain', connection: 'close' });
      request.pipe(response);
    };
    const upstream = await open();
    const path = '/api/v1/namespaces/a%2Fb/pods/../x?watch=true&labelSelector=a%3Db';
    const answer = await upstream.forward({
      ...get(path),
      method: 'POST',
      headers: {
        'impersonate-group': ['a', 'b'],
        authorization: ['Bearer forged'],
        'accept-encoding': ['gzip'],
      },
      body: Readable.from([Buffer.from('hello '), Buffer.from('there')]),
      credential: { token: 'mine' },
    });
    expect(await text(answer.body)).toBe('hello there');
    expect(answer).toMatchObject({ status: 201, server: url(0) });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain',
      warning: ['299 - "a"', '299 - "b"'],
    });
    expect(answer.headers.connection).toBeUndefined();
    const { url: seen, headersDistinct } = api.requests[0]!;
    expect(seen).toBe(path);
    expect(headersDistinct).toMatchObject({
      'impersonate-group': ['a', 'b'],
      authorization: ['Bearer mine'],
      'accept-encoding': ['gzip'],
    });
  });

  it('adds the credentials of the node, the token of the client, or none', async () => {
    const upstream = await open();
    const headers = { authorization: ['Bearer forged'] };
    for (const credential of ['node', { token: 't' }, 'none'] as const) {
      await text((await upstream.forward(get('/api', { credential, headers }))).body);
    }
    expect(api.requests.map((request) => request.headers.authorization)).toEqual([
      'Bearer node',
      'Bearer t',
      undefined,
    ]);
  });

  it('prepends the path of a server URL', async () => {
    const upstream = await open({ servers: [`${url(0)}/k8s/clusters/c-1/`] });
    expect(upstream.online).toBe(true);
    await answeredBy(upstream);
    expect(api.requests.map((request) => request.url)).toEqual([
      '/k8s/clusters/c-1/readyz?exclude=store-writes',
      '/k8s/clusters/c-1/api',
    ]);
  });

  it('uses servers in turn, or the first healthy one', async () => {
    const round = await open({ mode: 'rr' });
    await allHealthy(round);
    const order = [await answeredBy(round), await answeredBy(round), await answeredBy(round)];
    expect(order[0]).toBe(order[2]);
    expect(new Set(order).size).toBe(2);
    const first = await open({ mode: 'priority' });
    await allHealthy(first);
    expect([await answeredBy(first), await answeredBy(first)]).toEqual([url(0), url(0)]);
  });

  it('moves to the next server if the first is unreachable, also with the body of a write', async () => {
    api.answer = (request, response) => request.pipe(response);
    const upstream = await open();
    await allHealthy(upstream);
    await ways[0]!.cut();
    const body = Readable.from([Buffer.from('once')]);
    const answer = await upstream.forward(get('/api', { method: 'POST', body }));
    expect([answer.server, await text(answer.body)]).toEqual([url(1), 'once']);
    await eventually(() => upstream.servers()[0]!.healthy === false);
    expect(upstream.servers()[0]!.lastError).toMatch(/ECONNREFUSED/);
    expect(upstream.online).toBe(true);
    await ways[0]!.open();
    await allHealthy(upstream);
    expect(await answeredBy(upstream)).toBe(url(0));
  });

  it('repeats a read whose connection failed before the response, but never a write', async () => {
    api.answer = (request) => request.socket.destroy();
    const upstream = await open();
    await allHealthy(upstream);
    const failure = await upstream
      .forward(get('/a', { method: 'POST', body: Buffer.from('x') }))
      .catch((e) => e);
    expect(failure).toBeInstanceOf(UpstreamUnavailable);
    expect(failure.sent).toBe(true);
    expect(api.requests).toHaveLength(1);
    const failed = await upstream.forward(get('/b')).catch((e) => e);
    expect(failed).toMatchObject({ name: 'UpstreamUnavailable', sent: false });
    // Both servers, and one of them a second time.
    expect(api.requests.map((request) => request.url)).toEqual(['/a', '/b', '/b', '/b']);
    expect(upstream.online).toBe(true);
  });

  it('does not take a closed idle connection for an unreachable server', async () => {
    const upstream = await open({ servers: [url(0)] });
    let first = true;
    api.answer = (request, response) => {
      if (first) request.socket.destroy();
      else response.end('{}');
      first = false;
    };
    expect(await answeredBy(upstream)).toBe(url(0));
  });

  it('fails immediately if no server is reachable, and notices when one is reachable again', async () => {
    const upstream = await open({ servers: [url(0)], timings: TIMINGS });
    const changes: boolean[] = [];
    upstream.onChange((online) => changes.push(online));
    await ways[0]!.cut();
    await expect(upstream.forward(get('/api'))).rejects.toThrow(UpstreamUnavailable);
    await eventually(() => !upstream.online);
    await expect(upstream.forward(get('/api'))).rejects.toThrow('no API server is reachable');
    await expect(upstream.node().text('/version')).rejects.toThrow('no API server is reachable');
    await ways[0]!.open();
    await eventually(() => upstream.online);
    expect(changes).toEqual([false, true]);
    expect(await answeredBy(upstream)).toBe(url(0));
  });

  it('opens although no server is reachable', async () => {
    await ways[0]!.cut();
    const kept: number[] = [];
    const upstream = await open({
      servers: [url(0)],
      lastContact: 7,
      onContact: (ms) => kept.push(ms),
      timings: TIMINGS,
    });
    expect([upstream.online, upstream.lastContact, kept]).toEqual([false, 7, []]);
    await ways[0]!.open();
    await eventually(() => upstream.online);
    expect(kept).toEqual([upstream.lastContact]);
  });

  it('detects a link that drops everything: pending requests fail, and reads move to another server', async () => {
    const upstream = await open({ timings: IMPATIENT });
    await allHealthy(upstream);
    let answer = (_: string): void => {};
    api.answer = (request, response) => {
      if (request.url === '/watch') response.write('begun');
      else answer = (body) => response.end(body);
    };
    const watch = await upstream.forward(get('/watch'));
    const broken = once(watch.body.resume(), 'error');
    const read = upstream.forward(get('/read'));
    await eventually(() => api.requests.length === 2);
    ways[0]!.silence();
    await broken;
    await eventually(() => api.requests.length === 3);
    answer('there');
    expect(await text((await read).body)).toBe('there');
    expect((await read).server).toBe(url(1));
    await expect.poll(() => upstream.servers().map(({ healthy }) => healthy)).toEqual([false, true]);
    ways[0]!.speak();
    await allHealthy(upstream);
  });

  it('closes existing connections that do not work, although new ones do', async () => {
    const upstream = await open({ servers: [url(0)], timings: IMPATIENT });
    api.answer = (_, response) => response.write('begun');
    // On a busy machine the first probes may time out.
    await allHealthy(upstream);
    const watch = await upstream.forward(get('/watch'));
    const broken = once(watch.body.resume(), 'error');
    await eventually(() => api.probes > 1);
    ways[0]!.silence({ newOnes: false });
    await broken;
    await eventually(() => upstream.online);
  });

  it('does not take a slow server for an unreachable one', async () => {
    const clock = new VirtualClock();
    const timings = { ...TIMINGS, timeoutMs: 400, maxTimeoutMs: 800 };
    const upstream = await open({ servers: [url(0)], clock, timings, random: () => 0.5 });
    const changes: boolean[] = [];
    upstream.onChange((online) => changes.push(online));
    const waiting: ServerResponse[] = [];
    api.ready = (_, response) => void waiting.push(response);
    await clock.advance(100);
    await eventually(() => waiting.length === 1);
    // No response over the existing connection: the hub asks over a new one.
    await clock.advance(400);
    await eventually(() => waiting.length === 2);
    // No response there either, but the server has accepted the connection.
    await clock.advance(5_000);
    waiting[0]!.end('ok');
    await expect.poll(() => clock.advance(10).then(() => waiting.length)).toBe(3);
    expect(changes).toEqual([]);
  });

  it('probes an idle server often, and a busy server rarely', async () => {
    const clock = new VirtualClock();
    const timings = { ...HEALTH_TIMINGS, timeoutMs: 60_000, maxTimeoutMs: 60_000 };
    const upstream = await open({ servers: [url(0)], clock, timings, random: () => 0.5 });
    expect(api.probes).toBe(1);
    for (let seconds = 0; seconds < 24; seconds += 4) {
      await clock.advance(4_000);
      await answeredBy(upstream);
    }
    expect(api.probes).toBe(1);
    await clock.advance(1_000);
    await eventually(() => api.probes === 2);
    await expect.poll(() => clock.advance(1_000).then(() => api.probes)).toBe(3);
  });

  it('does not use a server that is not ready', async () => {
    const upstream = await open({ servers: [url(0)], timings: TIMINGS });
    api.ready = (_, response) => response.writeHead(500).end('[-]etcd failed');
    await eventually(() => !upstream.online);
    expect(upstream.servers()[0]!.lastError).toContain('[-]etcd failed');
    api.ready = (_, response) => response.writeHead(401).end();
    await eventually(() => upstream.online);
  });

  it('aborts the request when the client disconnects, and applies backpressure for a slow client', async () => {
    const upstream = await open();
    let written = 0;
    let gone = false;
    api.answer = (_, response) => {
      response.on('close', () => {
        gone = true;
      });
      const chunk = Buffer.alloc(256 * 1024);
      const more = (): void => {
        while (written < 64 * 1024 * 1024 && !gone) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
      };
      more();
    };
    const controller = new AbortController();
    const answer = await upstream.forward(get('/big', { signal: controller.signal }));
    await sleep(100);
    expect(written).toBeLessThan(48 * 1024 * 1024);
    answer.body.on('error', () => {});
    controller.abort();
    await eventually(() => gone);
  });

  it('can be aborted while it connects', async () => {
    const upstream = await open({ servers: [url(0)] });
    ways[0]!.silence();
    const controller = new AbortController();
    const pending = upstream.forward(get('/api', { signal: controller.signal }));
    const failed = expect(pending).rejects.toThrow('gone');
    await sleep(20);
    controller.abort(new Error('gone'));
    await failed;
  });

  it('returns clients that end only their own requests when they are closed', async () => {
    const upstream = await open({ servers: [url(0)] });
    api.answer = (request, response) => {
      if (request.url?.startsWith('/api/v1/pods'))
        response.write('{"type":"BOOKMARK","object":{"metadata":{}}}\n');
      else response.end('{"major":"1"}');
    };
    const client = upstream.client(fixedCredential({ authorization: 'Bearer a' }), { userAgent: 'other/1' });
    const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true };
    const mine = await client.watch(pods);
    const others = await upstream.node().watch(pods);
    expect([(await mine.next()).done, (await others.next()).done]).toEqual([false, false]);
    const ended = expect(mine.next()).rejects.toThrow('the client was closed');
    await client.close();
    await ended;
    await expect(client.text('/version')).rejects.toThrow('the client was closed');
    expect(await upstream.node().text('/version')).toContain('major');
    expect(api.requests.map(({ headers }) => [headers['user-agent'], headers.authorization])).toEqual([
      ['other/1', 'Bearer a'],
      ['tidegate-hub/test', 'Bearer node'],
      ['tidegate-hub/test', 'Bearer node'],
    ]);
    const still = others.next();
    ways[0]!.reset();
    await expect(still).rejects.toThrow();
  });

  it('reports received bytes and the health of servers as metrics', async () => {
    const metrics = new Metrics();
    const upstream = await open({ servers: [url(0)], metrics });
    for (const [type, body] of [
      ['text/plain', '12345'],
      ['application/json', '{}'],
      ['application/vnd.kubernetes.protobuf;stream=watch', 'k8s'],
    ] as const) {
      api.answer = (_, response) => response.setHeader('content-type', type).end(body);
      await answeredBy(upstream);
    }
    const scraped = await metrics.scrape();
    for (const [encoding, bytes] of Object.entries({ other: 5, json: 2, protobuf: 3 })) {
      const labels = `server="${url(0)}",encoding="${encoding}"`;
      expect(scraped).toContain(`tidegate_hub_upstream_received_bytes_total{${labels}} ${bytes}`);
    }
    expect(scraped).toContain(`tidegate_hub_upstream_healthy{server="${url(0)}"} 1`);
  });

  it('rejects an empty list of servers and invalid URLs', async () => {
    await expect(open({ servers: [] })).rejects.toThrow('no API server is configured; set at least one');
    await expect(open({ servers: ['10.0.0.1:6443'] })).rejects.toThrow(
      '"10.0.0.1:6443" is not a valid URL of an API server; use https://host:port',
    );
  });
});
