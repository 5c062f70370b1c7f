import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINT_BACKOFF_MS } from '../../../packages/tidegate/src/dataplane/limits.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import type { Backend } from '../support/backend.ts';
import { askRaw } from '../support/client.ts';
import { TcpServer } from '../support/tcp-server.ts';
import { vanishedEndpoint } from '../support/vanished.ts';
import { host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Failing endpoints, timeouts and the size of request bodies. */
export function limits(make: MakeDriver): void {
  describe('limits and failures', () => {
    let world: World;
    let good: Backend;
    /** Accepts requests and never responds. */
    let silent: Backend;
    /** Accepts requests and closes the connection. */
    let rude: Backend;
    /** Accepts connections and never sends anything, not even a TLS handshake. */
    const deaf = new TcpServer();

    beforeAll(async () => {
      world = await World.start(make, { maxBodyBytes: 1000 });
      good = await world.backend('good');
      silent = await world.backend('silent', { handle: () => {} });
      rude = await world.backend('rude', { handle: (request) => request.socket.destroy() });
      await deaf.start();
      await world.change({
        hosts: [
          host('limits.io', [
            route('/more', 'good', { limits: { maxBodyBytes: 5000 } }),
            route('/all', 'good', { limits: { maxBodyBytes: 0 } }),
            route('/slow', 'silent', { limits: { readTimeoutMs: 200 } }),
            route('/', 'good'),
          ]),
          host('none.io', 'none'),
        ],
        upstreams: [upstream('none', []), upstream('good', [good.port]), upstream('silent', [silent.port])],
      });
    });
    afterAll(async () => {
      await world.stop();
      await deaf.stop();
    });

    test.each([
      ['/', 1000, 200],
      ['/', 1001, 413],
      ['/more', 5000, 200],
      ['/more', 5001, 413],
      ['/all', 100_000, 200],
    ])('responds to a body for %s with %i bytes with %i', async (path, bytes, status) => {
      const body = Buffer.alloc(bytes);
      const headers = { 'Content-Length': String(bytes) };
      expect((await world.ask(`limits.io${path}`, { method: 'POST', body, headers })).status).toBe(status);
    });

    test('counts the bytes of a body without a length', async () => {
      const headers = { 'Transfer-Encoding': 'chunked' };
      const post = (bytes: number) =>
        world.ask('limits.io/', { method: 'POST', headers, body: Buffer.alloc(bytes) });
      expect((await post(1000)).status).toBe(200);
      expect((await post(1001)).status).toBe(413);
    });

    test.each([
      ['limits.io', 1001, 413],
      ['unknown.io', 1000, 404],
      ['none.io', 1000, 503],
    ])('responds to %s without asking for a body that it does not want', async (name, bytes, status) => {
      const head = `POST / HTTP/1.1\r\nHost: ${name}\r\nContent-Length: ${bytes}\r\nExpect: 100-continue\r\n\r\n`;
      // What follows is the body, not a request.
      const answers = await askRaw(world.ports.http, `${head}GET /more HTTP/1.1\r\nHost: limits.io\r\n\r\n`);
      expect(answers.match(/^HTTP\/1\.1 \d+/gm)).toEqual([`HTTP/1.1 ${status}`]);
    });

    test('asks for a body that it wants', async () => {
      const head =
        'POST / HTTP/1.1\r\nHost: limits.io\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n';
      const received = await new Promise<string>((resolve, reject) => {
        const socket = connect(world.ports.http, '127.0.0.1');
        let text = '';
        socket.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1');
          if (text === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('body');
        });
        socket.once('error', reject);
        socket.once('close', () => resolve(text));
        socket.write(head);
      });
      expect(received.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
      expect(received).toContain('"bodyBytes":4');
    });

    test('responds with 504 if the endpoint takes too long', async () => {
      expect(await world.respondingBackend('limits.io/slow')).toBe(504);
    });

    test('responds with 502 if no endpoint listens', async () => {
      await world.change({
        hosts: [host('gone.io', 'gone')],
        upstreams: [upstream('gone', [CLOSED_PORTS[0]])],
      });
      expect(await world.respondingBackend('gone.io/')).toBe(502);
    });

    test('tries the next endpoint if one does not listen, for every method', async () => {
      await world.change({
        hosts: [host('next.io', 'next')],
        upstreams: [upstream('next', [...CLOSED_PORTS, good.port])],
      });
      for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
        expect(await world.respondingBackend('next.io/', method === 'GET' ? {} : { method, body: 'x' })).toBe(
          'good',
        );
      }
    });

    test('does not retry a POST that an endpoint may have processed', async () => {
      const post = { method: 'POST', body: 'x' };
      const rudes = [
        rude,
        await world.backend('rude too', { handle: (request) => request.socket.destroy() }),
      ];
      await world.change({
        hosts: [host('once.io', 'once'), host('again.io', 'again')],
        upstreams: [
          upstream(
            'once',
            rudes.map(({ port }) => port),
          ),
          upstream('again', [rude.port, good.port]),
        ],
      });
      const asked = () => rudes.reduce((sum, { requests }) => sum + requests, 0);
      const before = asked();
      expect(await world.respondingBackend('once.io/', post)).toBe(502);
      expect(asked() - before).toBe(1);
      for (let i = 0; i < 4; i++) expect(await world.respondingBackend('again.io/')).toBe('good');
    });

    test('skips an endpoint that failed for a while', async () => {
      const failing = await world.backend('failing', { handle: (request) => request.socket.destroy() });
      await world.change({
        hosts: [host('out.io', 'out')],
        upstreams: [upstream('out', [failing.port, good.port])],
      });
      const started = performance.now();
      for (let i = 0; i < 50; i++) expect(await world.respondingBackend('out.io/')).toBe('good');
      // Each worker has its own back-off. On a busy machine, some of them end before the last request.
      const ended = 2 * Math.floor((performance.now() - started) / ENDPOINT_BACKOFF_MS.first);
      expect(failing.requests).toBeLessThanOrEqual(8 + ended);
      expect(failing.requests).toBeGreaterThan(0);
    });

    test('uses endpoints in back-off if there are no others', async () => {
      let works = false;
      const moody = await world.backend('moody', {
        handle: (request, response) => {
          if (works) response.end(JSON.stringify({ backend: 'moody' }));
          else request.socket.destroy();
        },
      });
      await world.change({
        hosts: [host('moody.io', 'moody')],
        upstreams: [upstream('moody', [moody.port])],
      });
      expect(await world.respondingBackend('moody.io/')).toBe(502);
      works = true;
      expect(await world.respondingBackend('moody.io/')).toBe('moody');
    });

    test('forwards error responses of endpoints and does not count them as failures', async () => {
      const sad = await world.backend('sad', {
        handle: (_, response) => response.writeHead(503, { 'X-Own': 'yes' }).end('own words'),
      });
      await world.change({
        hosts: [host('sad.io', 'sad')],
        upstreams: [upstream('sad', [sad.port, good.port])],
      });
      const answers = [];
      for (let i = 0; i < 12; i++) answers.push(await world.ask('sad.io/'));
      expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(3);
      expect(answers.find(({ status }) => status === 503)).toMatchObject({ body: 'own words' });
    });

    test('tries the next endpoint soon, if the address of one has vanished', async () => {
      const vanished = await vanishedEndpoint();
      // Longer than a test may take: the first attempt must not wait for it.
      const limits = { connectTimeoutMs: 3_600_000 };
      await world.change({
        hosts: [host('moved.io', [route('/', 'moved', { limits })])],
        upstreams: [upstream('moved', [vanished.port, good.port])],
      });
      try {
        for (let i = 0; i < 4; i++) expect(await world.respondingBackend('moved.io/')).toBe('good');
      } finally {
        await vanished.close();
      }
    });

    test('times out if an endpoint stops responding during the TLS handshake', async () => {
      await world.change({
        hosts: [
          host('deaf.io', [route('/', 'deaf', { limits: { connectTimeoutMs: 300, readTimeoutMs: 300 } })]),
        ],
        upstreams: [upstream('deaf', [deaf.port, deaf.port], { protocol: 'https' })],
      });
      expect(await world.respondingBackend('deaf.io/')).toBe(504);
    });
  });
}
