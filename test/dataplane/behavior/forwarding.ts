import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import type { Backend } from '../support/backend.ts';
import { askHttp2, askRaw, http2Session } from '../support/client.ts';
import { host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** What the data plane forwards to endpoints and to clients, and what it changes. */
export function forwarding(make: MakeDriver): void {
  describe('forwarding', () => {
    let world: World;
    let echo: Backend;

    beforeAll(async () => {
      world = await World.start(make);
      echo = await world.backend('echo');
      const odd = await world.backend('odd', {
        handle: (_, response) => {
          response.writeHead(418, [
            ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Latin', 'caf\xe9'],
            ...['Connection', 'x-private', 'X-Private', 'of this connection', 'Server', 'odd/1'],
          ]);
          response.end('short and stout');
        },
      });
      const secure = await world.backend('secure', { tls: new TestAuthority().issue(['any.example']) });
      await world.change({
        hosts: [host('echo.io', 'echo'), host('odd.io', 'odd'), host('secure.io', 'secure')],
        upstreams: [
          upstream('echo', [echo.port]),
          upstream('odd', [odd.port]),
          upstream('secure', [secure.port], { protocol: 'https' }),
        ],
      });
    });
    afterAll(() => world.stop());

    test('forwards the request target unchanged', async () => {
      const target = '/a%2Fb//c;d=e/%E2%82%AC/%7e?x%zz=%20+&y=/../z?';
      expect((await world.ask(`echo.io${target}`)).echo.url).toBe(target);
    });

    test('sets the X-Forwarded headers and discards those of the client', async () => {
      const { echo: seen } = await world.ask('Echo.io:81/', {
        headers: {
          ...{ 'X-Forwarded-For': '6.6.6.6', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'evil' },
          ...{ 'X-Real-IP': '6.6.6.6', Forwarded: 'for=6.6.6.6', Proxy: 'http://evil' },
        },
      });
      expect(seen.headers).toMatchObject({
        host: 'Echo.io:81',
        'x-forwarded-for': '127.0.0.1',
        'x-real-ip': '127.0.0.1',
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'Echo.io:81',
        'x-forwarded-port': String(world.ports.http),
      });
      expect(seen.headers).not.toHaveProperty('forwarded');
      expect(seen.headers).not.toHaveProperty('proxy');
      const secure = await world.askSecurely('echo.io/');
      expect(secure.echo.headers).toMatchObject({
        'x-forwarded-proto': 'https',
        'x-forwarded-port': String(world.ports.https),
      });
    });

    test('sets a request ID, and keeps the ID of the client if it is valid', async () => {
      const idOf = async (sent?: string) =>
        (await world.ask('echo.io/', sent === undefined ? {} : { headers: { 'X-Request-Id': sent } })).echo
          .headers['x-request-id'];
      expect(await idOf('mine_1-2')).toBe('mine_1-2');
      const made = [await idOf(), await idOf('not a word'), await idOf('x'.repeat(65)), await idOf('"}')];
      for (const id of made) expect(id).toMatch(/^[A-Za-z0-9_-]{16,64}$/);
      expect(new Set(made).size).toBe(made.length);
    });

    test('sets a unique ID for each request on a connection', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      onTestFinished(() => agent.destroy());
      const session = http2Session(world.ports.https, 'echo.io');
      onTestFinished(() => session.destroy());
      const ids = await Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          const asked =
            i % 3 === 0 ? askHttp2(session, 'echo.io/') : world.ask('echo.io/', i % 3 === 1 ? { agent } : {});
          return (await asked).echo.headers['x-request-id'];
        }),
      );
      expect(new Set(ids).size).toBe(60);
    });

    test('forwards headers except for those of the connection', async () => {
      const { echo: seen } = await world.ask('echo.io/', {
        headers: {
          ...{ 'X-Custom': ['1', '2'], x_under_score: 'discarded', Cookie: 'a=1; b=2', 'User-Agent': 'me' },
          ...{ Connection: 'close, x-mine', 'X-Mine': 'of this connection', TE: 'trailers' },
        },
      });
      expect(seen.headers).toMatchObject({
        ...{ 'x-custom': '1, 2', cookie: 'a=1; b=2', 'user-agent': 'me' },
      });
      expect(seen.headers).not.toHaveProperty('x_under_score');
      expect(seen.headers).not.toHaveProperty('x-mine');
      expect(seen.headers).not.toHaveProperty('te');
      expect(seen.headers.connection).not.toBe('close');
    });

    test('forwards the status, headers and body of the response', async () => {
      const { status, headers, body } = await world.ask('odd.io/');
      expect({ status, body }).toEqual({ status: 418, body: 'short and stout' });
      expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
      expect(headers['x-latin']).toBe('caf\xe9');
      // The router hides which server software the endpoint runs.
      expect(headers.server).toMatch(/^(tidegate|nginx)$/);
    });

    test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
      '%s',
      async (method) => {
        const { status, body } = await world.ask('echo.io/x', { method });
        expect(status).toBe(200);
        if (method === 'HEAD') expect(body).toBe('');
        else expect(JSON.parse(body)).toMatchObject({ method, url: '/x' });
      },
    );

    test('forwards bodies with and without a length', async () => {
      const body = Buffer.alloc(300_000, 'x');
      const length = { 'Content-Length': String(body.length) };
      const chunked = { 'Transfer-Encoding': 'chunked' };
      for (const headers of [length, chunked]) {
        const { echo: seen } = await world.ask('echo.io/', { method: 'POST', headers, body });
        expect(seen.bodyBytes).toBe(body.length);
      }
    });

    test('connects to an endpoint over TLS', async () => {
      const { echo: seen } = await world.ask('secure.io/x', { method: 'POST', body: 'abc' });
      expect(seen).toMatchObject({ backend: 'secure', url: '/x', bodyBytes: 3 });
    });

    test.each([false, true])('keeps connections of both sides open, over TLS: %s', async (secure) => {
      const agent = new (secure ? SecureAgent : Agent)({ keepAlive: true, maxSockets: 1 });
      const answers = [];
      for (let i = 0; i < 20; i++) {
        answers.push(
          await (secure ? world.askSecurely('echo.io/', { agent }) : world.ask('echo.io/', { agent })),
        );
      }
      const [first] = Object.values(agent.freeSockets);
      expect(first).toHaveLength(1);
      expect(Math.max(...answers.map((each) => each.echo.before))).toBeGreaterThan(5);
      agent.destroy();
    });

    test('serves pipelined requests on one connection', async () => {
      const one = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: echo.io\r\n${more}\r\n`;
      const said = await askRaw(world.ports.http, one('/1') + one('/2') + one('/3', 'Connection: close\r\n'));
      expect([...said.matchAll(/"url":"([^"]+)"/g)].map(([, url]) => url)).toEqual(['/1', '/2', '/3']);
    });

    test('distributes requests by weight', async () => {
      const other = await world.backend('other');
      await world.change({
        hosts: [host('weights.io', [route('/', { echo: 3, other: 1, none: 0 })])],
        upstreams: [upstream('other', [other.port]), upstream('none', [])],
      });
      const counts: Record<string, number> = {};
      for (let i = 0; i < 200; i++) {
        const by = await world.respondingBackend('weights.io/');
        counts[by] = (counts[by] ?? 0) + 1;
      }
      expect(Object.keys(counts).sort()).toEqual(['echo', 'other']);
      expect(counts.echo).toBeGreaterThan(counts.other!);
    });
  });
}
