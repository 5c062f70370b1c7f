import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import { service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import type { Backend } from '../support/backend.ts';
import { askHttp2, askRaw, http2Session, statusOf } from '../support/client.ts';
import { GrpcBackend, grpcFrame } from '../support/grpc-backend.ts';
import { TcpServer } from '../support/tcp-server.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';
import { users } from './users.ts';

/** What the server has received. */
interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  socket: unknown;
}

const GOOD = { headers: { Authorization: 'Bearer good' } };

/** Another server decides about requests, from annotations to the answers of a data plane. */
export function externalAuthentication(make: MakeDriver): void {
  describe('a server that authenticates clients', () => {
    let it: PolicyCluster;
    let server: Backend;
    let asked: Asked[];
    /** The answer of the server. */
    let reply: (request: IncomingMessage, response: ServerResponse) => void;
    const byToken = (request: IncomingMessage, response: ServerResponse): void => {
      const isGood = request.headers.authorization === 'Bearer good';
      response.writeHead(isGood ? 200 : 401, { 'X-User': 'ann', 'WWW-Authenticate': 'Bearer realm="x"' });
      response.end(isGood ? 'welcome' : 'go away');
    };
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      const { method = '', url = '', headers, socket } = request;
      asked.push({ method, url, headers, socket });
      reply(request, response);
    };
    let made = 0;
    const urlOf = (path = '/check'): string => `http://auth.example.com:${server.port}${path}`;
    /** Serves a host with these annotations, and returns it. */
    const protect = async (
      annotations: Record<string, string> = {},
      url = urlOf(),
      path = '/',
    ): Promise<string> => {
      const host = `ea${made++}.io`;
      await it.serve({ [`${host}${path}`]: 'web:80' }, { 'auth-url': url, ...annotations });
      return host;
    };

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      server = await it.backend('auth', { handle });
      it.cluster.names.set('auth.example.com', '127.0.0.1');
    });
    afterAll(() => it.stop());
    beforeEach(() => {
      asked = [];
      reply = byToken;
    });

    test('servers that lead back to the router do not cause requests without end', async () => {
      for (const name of ['left.io', 'right.io', 'second.io']) it.cluster.names.set(name, '127.0.0.1');
      const own = (host: string): Record<string, string> => ({
        'auth-url': `http://${host}:${it.world.ports.http}/`,
      });
      await it.serve({ 'left.io/': 'web:80' }, own('right.io'));
      await it.serve({ 'right.io/': 'web:80' }, own('left.io'));
      expect(await it.world.respondingBackend('left.io/')).toBe(500);
      // One after the other is not a loop.
      await it.serve({ 'first.io/': 'web:80' }, own('second.io'));
      await it.serve({ 'second.io/': 'web:80' }, { 'auth-url': urlOf() });
      expect(await it.world.respondingBackend('first.io/', GOOD)).toBe('web');
      expect(await it.world.respondingBackend('first.io/')).toBe(401);
    });

    test.each([
      ['', {}],
      ['kept', { 'auth-keepalive': '2', 'proxy-read-timeout': '1' }],
    ])(
      'an answer without an end occupies no connection %s',
      async (_, annotations: Record<string, string>) => {
        const host = await protect(annotations);
        let closed = 0;
        reply = (request, response) => {
          request.socket.once('close', () => closed++);
          response.writeHead(200).write('more follows');
        };
        expect(await it.world.respondingBackend(`${host}/`)).toBe('web');
        await expect.poll(() => closed).toBe(1);
      },
    );

    test('lets clients pass with 2xx, and answers with its 401 and 403', async () => {
      const host = await protect();
      expect(await it.world.respondingBackend(`${host}/`, GOOD)).toBe('web');
      const { status, headers, body } = await it.world.ask(`${host}/`);
      expect([status, headers['www-authenticate'], body]).toEqual([
        401,
        'Bearer realm="x"',
        'unauthorized\n',
      ]);
      for (const [own, expected] of [
        [204, 'web'],
        [202, 'web'],
        [403, 403],
        [404, 500],
        [302, 500],
        [500, 500],
        [503, 500],
        [429, 500],
      ] as const) {
        reply = (_, response) => void response.writeHead(own).end();
        expect({ own, got: await it.world.respondingBackend(`${host}/`, GOOD) }).toEqual({
          own,
          got: expected,
        });
      }
    });

    test('works over HTTP/2, and with a request that has a body', async () => {
      const host = await protect();
      const session = http2Session(it.world.ports.https, host);
      const options = { method: 'POST', body: 'x'.repeat(50_000), headers: GOOD.headers };
      const answer = await askHttp2(session, `${host}/`, options);
      expect(answer.echo).toMatchObject({ backend: 'web', method: 'POST', bodyBytes: 50_000 });
      expect((await askHttp2(session, `${host}/`, { method: 'POST', body: 'x' })).status).toBe(401);
      session.close();
      const { echo } = await it.world.ask(`${host}/`, options);
      expect(echo).toMatchObject({ backend: 'web', bodyBytes: 50_000 });
      expect(asked.map(({ method, headers }) => [method, headers['content-length']])).toEqual(
        asked.map(() => ['GET', undefined]),
      );
    });

    test('gets the headers of the client, and those of ingress-nginx', async () => {
      const host = await protect();
      await it.world.ask(`${host}/a?b=1`, {
        method: 'PUT',
        body: 'x',
        headers: {
          ...GOOD.headers,
          Cookie: 'a=1; b=2',
          'X-Own': 'yes',
          'X-Original-URL': 'http://evil.io',
          'X-Forwarded-For': '10.0.0.1',
          'X-Auth-Request-Redirect': 'http://evil.io',
          'X-Request-Id': 'abc',
        },
      });
      const [first] = asked;
      expect(first).toMatchObject({ method: 'GET', url: '/check' });
      expect(first?.headers).toMatchObject({
        host: `auth.example.com:${server.port}`,
        authorization: 'Bearer good',
        cookie: 'a=1; b=2',
        'x-own': 'yes',
        'x-original-url': `http://${host}/a?b=1`,
        'x-original-method': 'PUT',
        'x-sent-from': 'nginx-ingress-controller',
        'x-real-ip': '127.0.0.1',
        'x-forwarded-for': '127.0.0.1',
        'x-auth-request-redirect': '/a?b=1',
        'x-request-id': 'abc',
      });
      for (const name of ['content-length', 'x-original-uri', 'x-scheme', 'transfer-encoding'])
        expect(first?.headers[name]).toBe(undefined);
    });

    test.each(['HEAD', 'POST', 'OPTIONS'])('is asked with the method %s', async (method) => {
      const redirect = { 'auth-request-redirect': 'https://$host$uri' };
      const host = await protect(
        { 'auth-method': method, ...redirect },
        urlOf('/v$request_uri?h=$http_host'),
      );
      expect(await it.world.respondingBackend(`${host}/x?y`, GOOD)).toBe('web');
      expect(asked).toMatchObject([
        {
          method,
          url: `/v/x?y?h=${host}`,
          headers: {
            'x-original-uri': '/x?y',
            'x-scheme': 'http',
            'x-auth-request-redirect': `https://${host}/x`,
          },
        },
      ]);
    });

    test('sends clients to sign in', async () => {
      const location = async (annotations: Record<string, string>, where = '/a b?c&d'): Promise<unknown> => {
        const host = await protect(annotations);
        const { status, headers } = await it.world.ask(`${host}${where.replace(' ', '%20')}`);
        expect(status).toBe(302);
        return `${headers.location}`.replaceAll(host, 'HOST');
      };
      const signin = { 'auth-signin': 'https://$host/start' };
      expect(await location(signin)).toBe('https://HOST/start?rd=http://HOST%2Fa%2520b%3Fc%26d');
      expect(await location({ 'auth-signin': 'https://in.io/?x=1' }, '/')).toBe(
        'https://in.io/?x=1&rd=http://HOST%2F',
      );
      expect(await location({ 'auth-signin': 'https://in.io/?rd=$escaped_request_uri' }, '/y')).toBe(
        'https://in.io/?rd=%2Fy',
      );
      expect(await location({ ...signin, 'auth-signin-redirect-param': 'back' }, '/')).toBe(
        'https://HOST/start?back=http://HOST%2F',
      );
      const host = await protect(signin);
      reply = (_, response) => void response.writeHead(403).end();
      expect((await it.world.ask(`${host}/`)).status).toBe(403);
    });

    test('sets headers for the backend that clients cannot set', async () => {
      const host = await protect({ 'auth-response-headers': 'X-User, X-Forwarded-User,X-Groups' });
      reply = (_, response) => {
        response.setHeader('X-Groups', ['a', 'b']);
        response.writeHead(200, { 'x-user': 'ann', 'X-Other': 'no' }).end();
      };
      const forged = { 'X-User': 'root', 'X-Groups': 'admin', 'x-forwarded-user': 'root' };
      const { echo } = await it.world.ask(`${host}/`, { headers: forged });
      const names = ['x-user', 'x-groups', 'x-forwarded-user', 'x-other'];
      expect(names.map((name) => echo.headers[name])).toEqual(['ann', 'a, b', undefined, undefined]);
      reply = (_, response) => void response.writeHead(200, { 'X-Forwarded-User': 'ann' }).end();
      const second = (await it.world.ask(`${host}/`, { headers: forged })).echo;
      expect(names.map((name) => second.headers[name])).toEqual([undefined, undefined, 'ann', undefined]);
    });

    test('sets cookies of clients of a backend with gRPC', async () => {
      const grpc = new GrpcBackend();
      await grpc.start();
      it.cluster.put('Service', service('grpc', ['http:80']));
      it.cluster.put('EndpointSlice', slice('grpc', { '127.0.0.1': {} }, { ports: { http: grpc.port } }));
      await it.serve({ 'grpc-auth.io/': 'grpc:80' }, { 'auth-url': urlOf(), 'backend-protocol': 'GRPC' });
      reply = (_, response) => void response.writeHead(200, { 'Set-Cookie': 'a=1' }).end();
      const session = http2Session(it.world.ports.https, 'grpc-auth.io');
      const { status, headers } = await askHttp2(session, 'grpc-auth.io/echo.Echo/Say', {
        method: 'POST',
        headers: { 'content-type': 'application/grpc', te: 'trailers' },
        body: grpcFrame('hello'),
      });
      expect({ status, cookies: headers['set-cookie'] }).toEqual({ status: 200, cookies: ['a=1'] });
      session.destroy();
      await grpc.stop();
    });

    test('sets cookies of clients, and on errors only if it is asked to', async () => {
      const failing = await it.backend('failing', {
        handle: (_, response) => void response.writeHead(404, { 'Set-Cookie': 'own=1' }).end(),
      });
      it.endpoint('other', failing);
      const plain = await protect({ 'auth-signin': 'https://in.io/' });
      const always = await protect({ 'auth-always-set-cookie': 'true' });
      for (const [at, host] of [plain, always].entries())
        await it.serve(
          { [`${host}/fail`]: 'other:80' },
          {
            'auth-url': urlOf(),
            ...(at === 1 && { 'auth-always-set-cookie': 'true' }),
          },
        );
      const cookies = async (where: string, status = 200): Promise<unknown> => {
        reply = (_, response) => {
          response.setHeader('Set-Cookie', ['a=1; Path=/', 'b=2']);
          response.writeHead(status).end();
        };
        const { headers } = await it.world.ask(where);
        return headers['set-cookie'] ?? [];
      };
      const both = ['a=1; Path=/', 'b=2'];
      expect(await cookies(`${plain}/`)).toEqual(both);
      // A redirect to the page to sign in has them, an error does not.
      expect(await cookies(`${plain}/`, 401)).toEqual(both);
      expect(await cookies(`${plain}/`, 403)).toEqual([]);
      expect(await cookies(`${always}/`, 401)).toEqual(both);
      expect(await cookies(`${always}/`, 403)).toEqual(both);
      const seen = new Set<string>();
      while (seen.size < 2) {
        const list = (await cookies(`${plain}/fail`)) as string[];
        if (list.includes('own=1')) expect(list).toEqual(['own=1']);
        seen.add(list.includes('own=1') ? 'failing' : 'other');
      }
      for (const wanted of ['own=1', 'a=1; Path=/'])
        await expect.poll(async () => cookies(`${always}/fail`)).toContain(wanted);
    });

    test('fails closed', async () => {
      const [closed] = CLOSED_PORTS;
      const deaf = new TcpServer();
      await deaf.start();
      const times = { 'proxy-read-timeout': '1', 'proxy-connect-timeout': '1' };
      const urls = [
        `http://auth.example.com:${closed}/`,
        'http://unknown.example.com/',
        `http://auth.example.com:${deaf.port}/`,
        `https://auth.example.com:${server.port}/`,
      ];
      for (const url of urls) {
        const host = await protect(times, url);
        expect({ url, status: await it.world.respondingBackend(`${host}/`, GOOD) }).toEqual({
          url,
          status: 500,
        });
      }
      await deaf.stop();
      for (const text of [
        'not HTTP\r\n\r\n',
        'HTTP/1.1 200 OK\r\nX: y\0z\r\n\r\n',
        `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
        'HTTP/1.1 200 OK\r\nX: y',
        '',
      ]) {
        const raw = await it.backend('raw', {
          handle: (request) => void request.socket.end(Buffer.from(text, 'latin1')),
        });
        const host = await protect(times, `http://auth.example.com:${raw.port}/`);
        const status = await it.world.respondingBackend(`${host}/`, GOOD);
        expect({ text: text.slice(0, 40), status }).toEqual({ text: text.slice(0, 40), status: 500 });
      }
    });

    test('is asked over TLS, with its name', async () => {
      const names: unknown[] = [];
      const tls = await it.backend('tls-auth', {
        tls: new TestAuthority().issue(['auth.example.com']),
        handle: (request, response) => {
          names.push((request.socket as { servername?: string }).servername);
          byToken(request, response);
        },
      });
      const host = await protect({ 'auth-keepalive': '2' }, `https://auth.example.com:${tls.port}/`);
      for (let repeat = 0; repeat < 3; repeat++)
        expect(await it.world.respondingBackend(`${host}/`, GOOD)).toBe('web');
      expect(await it.world.respondingBackend(`${host}/`)).toBe(401);
      expect(new Set(names)).toEqual(new Set(['auth.example.com']));
    });

    test('can be a route of the same host', async () => {
      it.cluster.put('Service', service('checker', ['http:80']));
      it.endpoint('checker', server);
      const host = await protect({}, 'https://$host/oauth2/auth?r=$uri', '/app');
      expect(await it.world.respondingBackend(`${host}/app`, GOOD)).toBe(500);
      await it.serve({ [`${host}/oauth2`]: 'checker:80' }, { 'upstream-vhost': 'inner.io' });
      expect(await it.world.respondingBackend(`${host}/app/x`, GOOD)).toBe('web');
      expect(await it.world.respondingBackend(`${host}/app/x`)).toBe(401);
      expect(asked[0]).toMatchObject({ url: '/oauth2/auth?r=/app/x', headers: { host: 'inner.io' } });
      const rewritten = await protect({}, 'http://$host/sub/auth', '/app');
      await it.serve({ [`${rewritten}/sub(/.*)`]: 'checker:80' }, { 'rewrite-target': '/in$1' });
      expect(await it.world.respondingBackend(`${rewritten}/app`, GOOD)).toBe('web');
      expect(asked.at(-1)).toMatchObject({ url: '/in/auth', headers: { host: rewritten } });
    });

    test('is not asked again while its answer is kept', async () => {
      const host = await protect({
        'auth-cache-key': '$http_authorization$cookie_session',
        'auth-cache-duration': '200 401 10m, 403 0',
        'auth-response-headers': 'X-User',
      });
      for (let repeat = 0; repeat < 3; repeat++) {
        const { echo } = await it.world.ask(`${host}/${repeat}`, GOOD);
        expect(echo.headers['x-user']).toBe('ann');
        const { status, headers } = await it.world.ask(`${host}/${repeat}`);
        expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="x"']);
      }
      expect(asked).toHaveLength(2);
      // The parts of a key are not joined: these two are not the same session.
      const split = { Authorization: 'Bearer goo', Cookie: 'session=d' };
      expect(await it.world.respondingBackend(`${host}/`, { headers: split })).toBe(401);
      // Another Ingress and another path ask again.
      const other = await protect({ 'auth-cache-key': '$http_authorization$cookie_session' });
      expect(await it.world.respondingBackend(`${other}/`, GOOD)).toBe('web');
      expect(asked).toHaveLength(4);
      for (const headers of [{ 'Cache-Control': 'no-store' }, { 'Set-Cookie': 'a=b' }, { Vary: 'Cookie' }]) {
        reply = (_, response) => void response.writeHead(200, headers).end();
        asked = [];
        const own = { headers: { Authorization: `Bearer ${JSON.stringify(headers)}` } };
        for (let repeat = 0; repeat < 2; repeat++)
          expect(await it.world.respondingBackend(`${host}/`, own)).toBe('web');
        expect(asked).toHaveLength(2);
      }
    });

    test('gets connections that are kept, for as many requests as allowed', async () => {
      const some = { 'auth-keepalive': '1', 'auth-keepalive-requests': '2', 'auth-keepalive-timeout': '60' };
      for (const [annotations, most] of [
        [{}, 1],
        [{ ...some, 'auth-keepalive-share-vars': 'true' }, 2],
      ] as const) {
        const host = await protect(annotations);
        asked = [];
        const sent = 24;
        for (let repeat = 0; repeat < sent; repeat++)
          expect(await it.world.respondingBackend(`${host}/`, GOOD)).toBe('web');
        const counts = new Map<unknown, number>();
        for (const { socket } of asked) counts.set(socket, (counts.get(socket) ?? 0) + 1);
        expect(Math.max(...counts.values())).toBe(most);
      }
    });

    test('and lists and passwords must all agree, or any of them', async () => {
      const hash = `{SHA}${createHash('sha1').update('pw').digest('base64')}`;
      it.cluster.put('Secret', users('both', { auth: `ann:${hash}\n` }));
      const basic = { 'auth-type': 'basic', 'auth-secret': 'both' };
      const password = { headers: { Authorization: `Basic ${Buffer.from('ann:pw').toString('base64')}` } };
      const token = { headers: { 'X-Token': 'good' } };
      reply = (request, response) =>
        void response.writeHead(request.headers['x-token'] === 'good' ? 200 : 403).end();
      const all = await protect(basic);
      const any = await protect({ ...basic, satisfy: 'any' });
      const listed = await protect({ satisfy: 'any', 'whitelist-source-range': '127.0.0.1' });
      const denied = await protect({ 'denylist-source-range': '127.0.0.1' });
      const both = { headers: { ...password.headers, ...token.headers } };
      const ask = (host: string, options = {}) => it.world.respondingBackend(`${host}/`, options);
      expect([await ask(all), await ask(all, password), await ask(all, token), await ask(all, both)]).toEqual(
        [...[401, 403, 401, 'web']],
      );
      expect([await ask(any), await ask(any, password), await ask(any, token)]).toEqual([401, 'web', 'web']);
      expect([await ask(listed), await ask(denied, token)]).toEqual(['web', 403]);
    });

    test('is asked for every spelling of a path', async () => {
      const host = await protect({}, urlOf(), '/admin');
      await it.serve({ [`${host}/`]: 'other:80' });
      for (const path of ['/admin', '//admin', '/%61dmin', '/admin/x', '/Admin', '/admin/']) {
        const status = await it.world.respondingBackend(`${host}${path}`);
        expect({ path, isOpen: status === 'web' || status === 'other' }).toEqual({ path, isOpen: false });
      }
      const line = `Authorization: Bearer good\r\n`;
      const text = `GET /admin HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${line}${line}\r\n`;
      expect(statusOf(await askRaw(it.world.ports.http, text))).toBe(400);
    });
  });
}
