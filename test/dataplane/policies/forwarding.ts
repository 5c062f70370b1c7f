import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import { Backend } from '../support/backend.ts';
import type { Ask } from '../support/client.ts';
import { TcpServer } from '../support/tcp-server.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Timeouts of endpoints, retries and sizes of heads. */
export function forwarding(make: MakeDriver): void {
  describe('retries', () => {
    let it: PolicyCluster;
    const more: Backend[] = [];
    /** Accepts connections, and neither reads nor answers. */
    const deaf = new TcpServer();
    let made = 0;

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      await deaf.start();
    });
    afterAll(async () => {
      await it.stop();
      await deaf.stop();
      for (const each of more) await each.stop();
    });

    const backend = async (name: string, status?: number): Promise<Backend> => {
      const handle = (_: unknown, response: { writeHead(code: number): { end(text: string): void } }) =>
        response.writeHead(status ?? 200).end(`own answer of ${name}`);
      const started = await Backend.start(name, status === undefined ? {} : { handle });
      more.push(started);
      return started;
    };

    /** Serves a host whose endpoints have these ports. */
    const serve = async (ports: readonly number[], annotations: Record<string, string>): Promise<string> => {
      const name = `s${made++}`;
      it.cluster.put('Service', service(name, ['http:80']));
      for (const [at, port] of ports.entries())
        it.cluster.put(
          'EndpointSlice',
          slice(name, { '127.0.0.1': {} }, { name: `${name}-${at}`, ports: { http: port } }),
        );
      await it.serve({ [`${name}.io/`]: `${name}:80` }, annotations);
      return `${name}.io/`;
    };

    /**
     * The responses to many requests have these statuses. Which endpoint is the first one is not known: each worker of nginx has its
     * own turn, and skips endpoints that did not answer.
     */
    const expectStatuses = async (
      where: string,
      expected: readonly number[],
      options: Ask = {},
    ): Promise<void> => {
      const wanted = [...new Set(expected)].sort();
      const seen = new Set<number>();
      const next = async (): Promise<number> => seen.add((await it.world.ask(where, options)).status).size;
      if (wanted.length > 1) await expect.poll(next).toBe(wanted.length);
      else for (let i = 0; i < 6; i++) await next();
      expect([...seen].sort()).toEqual(wanted);
    };

    test.each([
      [{}, 503, [200, 503]],
      [{ 'proxy-next-upstream': 'error timeout http_503' }, 503, [200, 200]],
      [{ 'proxy-next-upstream': 'error http_500 http_502' }, 503, [200, 503]],
      [{ 'proxy-next-upstream': 'http_429 http_404' }, 429, [200, 200]],
      [{ 'proxy-next-upstream': 'http_503', 'proxy-next-upstream-tries': '1' }, 503, [200, 503]],
      [{ 'proxy-next-upstream': 'http_503 off' }, 503, [200, 503]],
      [{ 'proxy-next-upstream': 'http_418' }, 503, [200, 503]],
    ])('with %j, an endpoint that answers %i leads to %j', async (annotations, status, expected) => {
      const [good, bad] = [await backend('good'), await backend('bad', status)];
      const where = await serve([good.port, bad.port], annotations as Record<string, string>);
      await expectStatuses(where, expected);
    });

    test('the answer of the last endpoint is forwarded unchanged', async () => {
      const all = [await backend('a', 503), await backend('b', 503), await backend('c', 503)];
      const annotations = { 'proxy-next-upstream': 'http_503', 'proxy-next-upstream-tries': '2' };
      const where = await serve(
        all.map(({ port }) => port),
        annotations,
      );
      const { status, body } = await it.world.ask(where);
      expect({ status, body }).toEqual({ status: 503, body: expect.stringMatching(/^own answer of [abc]$/) });
      expect(all.map(({ requests }) => requests).sort()).toEqual([0, 1, 1]);
    });

    test.each([
      ['http_503', [200, 503]],
      ['http_503 non_idempotent', [200, 200]],
    ])('with %s, POST requests lead to %j', async (words, expected) => {
      const [good, bad] = [await backend('good'), await backend('bad', 503)];
      const where = await serve([good.port, bad.port], { 'proxy-next-upstream': words });
      const body = Buffer.alloc(5000);
      const options = { method: 'POST', body, headers: { 'Content-Length': '5000' } };
      await expectStatuses(where, expected, options);
    });

    test('a body of unknown length reaches an endpoint with retries', async () => {
      const [good, bad] = [await backend('good'), await backend('bad', 503)];
      const annotations = { 'proxy-next-upstream': 'http_503', 'proxy-body-size': '1m' };
      const where = await serve([good.port, bad.port], annotations);
      const options = {
        method: 'POST',
        body: Buffer.alloc(5000),
        headers: { 'Transfer-Encoding': 'chunked' },
      };
      await expectStatuses(where, [200, 503], options);
    });

    test('without error, no other endpoint is tried after a refused connection', async () => {
      const good = await backend('good');
      const without = await serve([good.port, CLOSED_PORTS[0]], { 'proxy-next-upstream': 'timeout' });
      await expectStatuses(without, [200, 502]);
      const off = await serve([good.port, CLOSED_PORTS[1]], { 'proxy-next-upstream': 'off' });
      await expectStatuses(off, [200, 502]);
      const on = await serve([good.port, CLOSED_PORTS[0]], { 'proxy-next-upstream': 'error' });
      await expectStatuses(on, [200, 200]);
    });

    test.each([
      ['error', [200, 504]],
      ['error timeout', [200, 200]],
    ])('with %s, an endpoint without an answer leads to %j', async (words, expected) => {
      const good = await backend('good');
      const silent = await Backend.start('silent', { handle: () => {} });
      more.push(silent);
      const annotations = { 'proxy-next-upstream': words, 'proxy-read-timeout': '2' };
      const where = await serve([good.port, silent.port], annotations);
      await expectStatuses(where, expected);
    });

    test('after the time for retries, no other endpoint is tried', async () => {
      const good = await backend('good');
      const silent = await Backend.start('silent', { handle: () => {} });
      more.push(silent);
      const annotations = { 'proxy-next-upstream-timeout': '500ms', 'proxy-read-timeout': '1' };
      const where = await serve([good.port, silent.port], annotations);
      await expectStatuses(where, [200, 504]);
    });

    test('an endpoint that stops reading leads to 504 after the send timeout', async () => {
      const where = await serve([deaf.port], { 'proxy-send-timeout': '1', 'proxy-read-timeout': '20h' });
      const body = Buffer.alloc(30 * 1024 * 1024);
      const headers = { 'Content-Length': String(body.length) };
      expect((await it.world.ask(where, { method: 'POST', body, headers })).status).toBe(504);
    });

    test.each([
      ['16k', 502],
      ['128k', 200],
    ])('with proxy-buffer-size %s, a large head of a response leads to %i', async (size, status) => {
      const large = await Backend.start('large', {
        handle: (_, response) => {
          for (let at = 0; at < 10; at++) response.setHeader(`X-Large-${at}`, 'x'.repeat(4000));
          response.end('ok');
        },
      });
      more.push(large);
      const where = await serve([large.port], { 'proxy-buffer-size': size });
      expect((await it.world.ask(where, { maxHeaderSize: 200_000 })).status).toBe(status);
    });

    test.each([
      ['proxy-send-timeout', 'soon'],
      ['proxy-next-upstream', 'error; }'],
      ['proxy-next-upstream-tries', '-1'],
      ['proxy-buffer-size', '4q'],
      ['proxy-http-version', '1.0'],
    ])('%s: %s is ignored', async (name, value) => {
      const good = await backend('good');
      await expectStatuses(await serve([good.port], { [name]: value }), [200]);
    });
  });
}
