import type { ClientHttp2Session } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compilePattern } from '../../../packages/tidegate/src/ingress/regex/index.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import type { Backend } from '../support/backend.ts';
import { askHttp2, http2Session } from '../support/client.ts';
import { GrpcBackend, grpcFrame } from '../support/grpc-backend.ts';
import { askInFrames } from '../support/http2-frames.ts';
import { host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** HTTP/2 between client and router, and gRPC end to end. */
export function http2(make: MakeDriver): void {
  describe('http2', () => {
    let world: World;
    let session: ClientHttp2Session;
    let one: Backend;
    const grpc = new GrpcBackend();

    beforeAll(async () => {
      world = await World.start(make);
      one = await world.backend('one');
      await grpc.start();
      await world.change({
        hosts: [
          host('one.io', 'one'),
          host('grpc.io', [route('/slow', 'grpc', { limits: { readTimeoutMs: 300 } }), route('/', 'grpc')]),
          host('moved.io', [
            route('/x/(.*)', 'grpc', {
              match: 'Regex',
              pattern: compilePattern('/x/(.*)', new Set([1]), '^'),
              policy: { rewrite: { target: ['/', 1], prefix: ['/x'] } },
            }),
          ]),
          host('small.io', [route('/', 'grpc', { limits: { maxBodyBytes: 1000 } })]),
          host('gone.io', 'gone'),
          host('next.io', 'next'),
        ],
        upstreams: [
          upstream('one', [one.port]),
          upstream('grpc', [grpc.port], { protocol: 'grpc' }),
          upstream('gone', [CLOSED_PORTS[0]], { protocol: 'grpc' }),
          upstream('next', [CLOSED_PORTS[0], grpc.port], { protocol: 'grpc' }),
        ],
      });
      session = http2Session(world.ports.https, 'one.io');
    });
    afterAll(async () => {
      session.destroy();
      await world.stop();
      await grpc.stop();
    });

    test.each([
      ['upgrade', 'websocket'],
      ['connection', 'upgrade'],
      ['connection', 'x-forwarded-for'],
      ['keep-alive', 'timeout=5'],
      ['proxy-connection', 'keep-alive'],
      ['transfer-encoding', 'chunked'],
    ])('refuses a request with %s: %s, which belongs to HTTP/1', async (name, value) => {
      const before = one.requests;
      for (const body of ['', 'GET /other HTTP/1.1\r\nHost: one.io\r\n\r\n']) {
        const answer = await askInFrames(world.ports.https, 'one.io', [[name, value]], body);
        expect(answer === 'reset' || answer.includes('bad request')).toBe(true);
      }
      expect(one.requests).toBe(before);
      expect(await askInFrames(world.ports.https, 'one.io', [['x-own', 'x']])).toContain('"backend":"one"');
    });

    test('rewrites the path of gRPC requests', async () => {
      const { status, headers } = await askHttp2(session, 'moved.io/x/echo.Echo/Say%20x', {
        method: 'POST',
        headers: { 'content-type': 'application/grpc', te: 'trailers' },
        body: grpcFrame('hello'),
      });
      expect({ status, path: headers['x-path'] }).toEqual({ status: 200, path: '/echo.Echo/Say%20x' });
      expect(`${headers['x-names']}`.split(',')).toContain('x-forwarded-prefix');
    });

    test('refuses control characters in the changed path of gRPC requests', async () => {
      for (const character of ['%0A', '%1f', '%7F']) {
        const { status } = await askHttp2(session, `moved.io/x/echo.Echo/${character}`, {
          method: 'POST',
          headers: { 'content-type': 'application/grpc', te: 'trailers' },
          body: grpcFrame('hello'),
        });
        expect({ character, status }).toEqual({ character, status: 400 });
      }
    });

    test('serves concurrent requests on one connection', async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          askHttp2(session, `one.io/${i}?x`, { method: 'POST', body: 'abc' }),
        ),
      );
      expect(answers.map(({ echo }) => echo.url)).toEqual(answers.map((_, i) => `/${i}?x`));
      expect(answers.every(({ echo }) => echo.bodyBytes === 3)).toBe(true);
      expect(answers[0]!.echo.headers).toMatchObject({ host: 'one.io', 'x-forwarded-proto': 'https' });
      expect(answers[0]!.echo.raw.some((each) => each.startsWith(':'))).toBe(false);
    });

    test.each([
      [300, 200],
      [480, 200],
      [501, 431],
    ])('responds to a request with %i headers with %i', async (count, status) => {
      const headers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'y']));
      expect((await askHttp2(session, 'one.io/', { headers })).status).toBe(status);
    });

    test('joins split cookie headers into one', async () => {
      const { echo } = await askHttp2(session, 'one.io/', { headers: { cookie: ['a=1', 'b=2'] } });
      expect(echo.raw.filter((each) => each.toLowerCase() === 'cookie')).toHaveLength(1);
      expect(echo.headers.cookie).toBe('a=1; b=2');
    });

    test('forwards repeated headers, and headers with names that are special in JavaScript', async () => {
      const twice = await world.backend('twice', {
        handle: (message, response) => {
          const names = ['Content-Type', 'a/b', 'Content-Type', 'c/d', 'X-Twice', '1', 'X-Twice', '2'];
          response.writeHead(200, [
            ...names,
            'constructor',
            'x',
            '__proto__',
            'y',
            'Set-Cookie',
            'a',
            'Set-Cookie',
            'b',
          ]);
          response.end(JSON.stringify(message.rawHeaders));
        },
      });
      await world.change({
        hosts: [host('twice.io', 'twice')],
        upstreams: [upstream('twice', [twice.port])],
      });
      const { status, headers, body } = await askHttp2(session, 'twice.io/', {
        headers: { constructor: 'z', tostring: 'w' },
      });
      expect(status).toBe(200);
      expect(headers).toMatchObject({ constructor: 'x', 'x-twice': '1, 2', 'set-cookie': ['a', 'b'] });
      expect(headers['content-type']).toMatch(/^(a\/b|c\/d)$/);
      const seen = JSON.parse(body) as string[];
      expect(seen).toEqual(expect.arrayContaining(['constructor', 'z', 'tostring', 'w']));
    });

    test.each([
      ['elsewhere.io/', 404],
      ['one.io/a/../b', 400],
      ['a..b/', 400],
    ])('responds to %s with %i', async (where, status) =>
      expect((await askHttp2(session, where)).status).toBe(status),
    );

    test('rejects TRACE', async () => {
      expect((await askHttp2(session, 'one.io/', { method: 'TRACE' })).status).toBe(405);
    });

    const call = (where: string, body: Buffer = grpcFrame('hello')) =>
      askHttp2(session, where, {
        method: 'POST',
        headers: { 'content-type': 'application/grpc', te: 'trailers', 'x-custom': 'mine' },
        body,
      });

    test('gRPC: forwards messages, headers and trailers in both directions', async () => {
      const { status, headers, body, trailers } = await call('grpc.io/echo.Echo/Say');
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'application/grpc',
        'x-seen': 'mine',
        'x-te': 'trailers',
      });
      expect(headers['x-path']).toBe('/echo.Echo/Say');
      expect(headers['x-authority']).toBe('grpc.io');
      expect(body).toBe(grpcFrame('hello').toString());
      expect(trailers).toMatchObject({ 'grpc-status': '0', 'grpc-message': 'fine' });
    });

    test('gRPC: forwards a response that has only trailers', async () => {
      const { status, headers, body } = await call('grpc.io/echo.Echo/Refuse');
      expect({ status, body }).toEqual({ status: 200, body: '' });
      expect(headers).toMatchObject({ 'grpc-status': '7' });
    });

    test('gRPC: forwards messages of both sides at the same time', async () => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/echo.Echo/Chat',
        ':authority': 'grpc.io',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      for (const word of ['one', 'two', 'three']) {
        stream.write(grpcFrame(word));
        expect(String((await pieces.next()).value)).toContain(word);
      }
      const trailers = new Promise((resolve) => stream.once('trailers', resolve));
      stream.end();
      expect((await pieces.next()).done).toBe(true);
      expect(await trailers).toMatchObject({ 'grpc-status': '0' });
    });

    const begin = (path: string) => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': path, ':authority': 'grpc.io' },
        ...{ 'content-type': 'application/grpc', te: 'trailers' },
      });
      stream.write(grpcFrame('more to come'));
      return stream;
    };

    test('gRPC: forwards a response that is sent before all messages', async () => {
      const stream = begin('/echo.Echo/Refuse');
      const headers = await new Promise((resolve) => stream.once('response', resolve));
      expect(headers).toMatchObject({ 'grpc-status': '7' });
      stream.resume();
      await new Promise((resolve) => stream.once('close', resolve));
    });

    test('forwards a long response that is sent before the end of the request', async () => {
      const long = await world.backend('long', {
        handle: (_, response) => response.writeHead(401).end(Buffer.alloc(2_000_000)),
      });
      await world.change({ hosts: [host('long.io', 'long')], upstreams: [upstream('long', [long.port])] });
      const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'long.io' });
      stream.write('begins');
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      await new Promise((resolve) => stream.once('close', resolve));
      expect(bytes).toBe(2_000_000);
    });

    test('gRPC: aborts the response if the endpoint aborts it', async () => {
      const stream = begin('/echo.Echo/Break');
      let trailers: unknown;
      stream.once('trailers', (received) => {
        trailers = received;
      });
      stream.resume();
      await expect(
        new Promise((resolve, reject) => stream.once('close', resolve).once('error', reject)),
      ).rejects.toThrow();
      expect(trailers).toBeUndefined();
    });

    test('gRPC: forwards streams that are larger than the limit of bodies', async () => {
      const message = grpcFrame('x'.repeat(100_000));
      expect((await call('small.io/echo.Echo/Say', message)).body.length).toBe(message.length);
    });

    test('gRPC: forwards large messages', async () => {
      const message = grpcFrame('x'.repeat(2_000_000));
      expect((await call('grpc.io/echo.Echo/Say', message)).body.length).toBe(message.length);
    });

    test('gRPC: tries the next endpoint, and responds with 502 or 504 if none responds', async () => {
      expect((await call('gone.io/echo.Echo/Say')).status).toBe(502);
      for (let i = 0; i < 4; i++) expect((await call('next.io/echo.Echo/Say')).status).toBe(200);
      expect((await call('grpc.io/slow')).status).toBe(504);
    });
  });
}
