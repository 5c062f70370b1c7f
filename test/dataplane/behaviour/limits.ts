import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, freePort } from '../support/backend.ts';
import { host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** What happens when endpoints do not answer, and when clients send too much. */
export function limits(make: MakeDriver): void {
  describe('limits and failures', () => {
    let world: World;
    let good: Backend;
    /** Takes requests and never answers. */
    let silent: Backend;
    /** Takes requests and hangs up. */
    let rude: Backend;
    /** Takes connections, and says nothing. */
    const deaf = new Deaf();

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
        ],
        upstreams: [upstream('good', [good.port]), upstream('silent', [silent.port])],
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
    ])('%s takes %i bytes: %i', async (path, bytes, status) => {
      const body = Buffer.alloc(bytes);
      const headers = { 'Content-Length': String(bytes) };
      expect((await world.ask(`limits.io${path}`, { method: 'POST', body, headers })).status).toBe(status);
    });

    test('a body without a length is counted', async () => {
      const headers = { 'Transfer-Encoding': 'chunked' };
      const post = (bytes: number) =>
        world.ask('limits.io/', { method: 'POST', headers, body: Buffer.alloc(bytes) });
      expect((await post(1000)).status).toBe(200);
      expect((await post(1001)).status).toBe(413);
    });

    test('an endpoint that takes too long', async () => {
      expect(await world.whoAnswers('limits.io/slow')).toBe(504);
    });

    test('an endpoint that is not there', async () => {
      await world.change({
        hosts: [host('gone.io', 'gone')],
        upstreams: [upstream('gone', [await freePort()])],
      });
      expect(await world.whoAnswers('gone.io/')).toBe(502);
    });

    test('the next is asked when one is not there, whatever the method', async () => {
      await world.change({
        hosts: [host('next.io', 'next')],
        upstreams: [upstream('next', [await freePort(), await freePort(), good.port])],
      });
      for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
        expect(await world.whoAnswers('next.io/', method === 'GET' ? {} : { method, body: 'x' })).toBe(
          'good',
        );
      }
    });

    test('what may have been done is not done twice', async () => {
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
      expect(await world.whoAnswers('once.io/', post)).toBe(502);
      expect(asked() - before).toBe(1);
      for (let i = 0; i < 4; i++) expect(await world.whoAnswers('again.io/')).toBe('good');
    });

    test('an endpoint that failed is left out for a while', async () => {
      const failing = await world.backend('failing', { handle: (request) => request.socket.destroy() });
      await world.change({
        hosts: [host('out.io', 'out')],
        upstreams: [upstream('out', [failing.port, good.port])],
      });
      for (let i = 0; i < 50; i++) expect(await world.whoAnswers('out.io/')).toBe('good');
      // Each worker finds out by itself.
      expect(failing.requests).toBeLessThanOrEqual(8);
      expect(failing.requests).toBeGreaterThan(0);
    });

    test('when all have failed they are asked all the same', async () => {
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
      expect(await world.whoAnswers('moody.io/')).toBe(502);
      works = true;
      expect(await world.whoAnswers('moody.io/')).toBe('moody');
    });

    test('what endpoints answer themselves is passed on, and no failure', async () => {
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

    test('one that falls silent in the handshake is given up, and another asked', async () => {
      await world.change({
        hosts: [
          host('deaf.io', [route('/', 'deaf', { limits: { connectTimeoutMs: 300, readTimeoutMs: 300 } })]),
        ],
        upstreams: [upstream('deaf', [deaf.port, deaf.port], { protocol: 'https' })],
      });
      expect(await world.whoAnswers('deaf.io/')).toBe(504);
    });
  });
}

class Deaf {
  readonly #sockets: Socket[] = [];
  readonly #server: Server = createServer((socket) => {
    socket.on('error', () => {});
    this.#sockets.push(socket);
  });

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
