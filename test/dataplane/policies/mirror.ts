import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import { service } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { CLOSED_PORTS } from '../../support/ports.ts';
import type { Backend } from '../support/backend.ts';
import { askHttp2, http2Session } from '../support/client.ts';
import { TcpServer } from '../support/tcp-server.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';
import { users } from './users.ts';

/** A copy, as the server has received it. */
interface Copy {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Copies of requests for another server. */
export function mirrors(make: MakeDriver): void {
  describe('copies of requests', () => {
    let it: PolicyCluster;
    let server: Backend;
    let copies: Copy[];
    const receive: Parameters<PolicyCluster['backend']>[1] = {
      handle: (request, response) => {
        const { method = '', url = '', headers } = request;
        let body = '';
        request.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        request.on('end', () => {
          copies.push({ method, url, headers, body });
          response.writeHead(500, { 'Set-Cookie': 'copy=1' }).end('not for clients');
        });
      },
    };
    let made = 0;
    const mirror = async (annotations: Record<string, string> = {}): Promise<string> => {
      const host = `mi${made++}.io`;
      const target = { 'mirror-target': `http://copy.example.com:${server.port}/m$request_uri` };
      await it.serve({ [`${host}/`]: 'web:80' }, { ...target, ...annotations });
      return host;
    };
    const copied = (count: number) => expect.poll(() => copies.length).toBe(count);

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      server = await it.backend('copies', receive);
      it.cluster.names.set('copy.example.com', '127.0.0.1');
    });
    afterAll(() => it.stop());
    beforeEach(() => {
      copies = [];
    });

    test('a server that leads back to the router does not cause copies without end', async () => {
      let requests = 0;
      const counted = await it.backend('counted', {
        handle: (_, response) => {
          requests++;
          response.end();
        },
      });
      it.cluster.put('Service', service('counted'));
      it.endpoint('counted', counted);
      it.cluster.names.set('back.io', '127.0.0.1');
      const target = `http://back.io:${it.world.ports.http}$request_uri`;
      await it.serve({ 'back.io/': 'counted:80' }, { 'mirror-target': target });
      await it.world.ask('back.io/');
      await expect.poll(() => requests).toBe(4);
      const host = await mirror();
      await it.world.ask(`${host}/`);
      await copied(1);
      expect(requests).toBe(4);
    });

    test('have method, path, headers and body of the request', async () => {
      const host = await mirror();
      for (const body of ['', 'small', 'x'.repeat(300_000)]) {
        copies = [];
        const method = body === '' ? 'GET' : 'POST';
        const headers = {
          'X-Own': 'yes',
          'X-Forwarded-For': '10.0.0.1',
          Cookie: 'a=1',
          'X-Request-Id': 'abc',
        };
        const {
          status,
          echo,
          headers: got,
        } = await it.world.ask(`${host}/a?b`, {
          method,
          headers: { ...headers, ...(body && { 'Content-Length': String(body.length) }) },
          body,
        });
        expect([status, echo.backend, echo.bodyBytes, got['set-cookie']]).toEqual([
          ...[200, 'web', body.length, undefined],
        ]);
        await copied(1);
        expect(copies[0]).toMatchObject({ method, url: '/m/a?b', body });
        expect(copies[0]?.headers).toMatchObject({
          host: `copy.example.com:${server.port}`,
          'x-own': 'yes',
          cookie: 'a=1',
          'x-request-id': 'abc',
          'x-real-ip': '127.0.0.1',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-host': host,
          'x-forwarded-proto': 'http',
        });
      }
    });

    test('have another host, and no body if it is off', async () => {
      const host = await mirror({ 'mirror-host': 'shadow.io', 'mirror-request-body': 'off' });
      const headers = { 'Content-Length': '5' };
      expect((await it.world.ask(`${host}/`, { method: 'PUT', body: 'hello', headers })).echo.bodyBytes).toBe(
        5,
      );
      await copied(1);
      expect(copies[0]).toMatchObject({ method: 'PUT', body: '', headers: { host: 'shadow.io' } });
      expect(copies[0]?.headers['content-length']).toBe('0');
    });

    test('are sent for HTTP/2 and over TLS', async () => {
      const tls = await it.backend('tls-copies', {
        ...receive,
        tls: new TestAuthority().issue(['copy.example.com']),
      });
      const host = await mirror({ 'mirror-target': `https://copy.example.com:${tls.port}$request_uri` });
      const session = http2Session(it.world.ports.https, host);
      const options = { method: 'POST', body: 'over HTTP/2', headers: { 'content-length': '11' } };
      expect((await askHttp2(session, `${host}/`, options)).echo.bodyBytes).toBe(11);
      session.close();
      await copied(1);
      expect(copies[0]).toMatchObject({
        url: '/',
        body: 'over HTTP/2',
        headers: { 'x-forwarded-proto': 'https' },
      });
    });

    test('are not sent for requests that are refused, too large, or of unknown length', async () => {
      const host = await mirror({ 'proxy-body-size': '3m' });
      const denied = await mirror({ 'denylist-source-range': '127.0.0.1' });
      const post = async (body: string, headers: Record<string, string>): Promise<number> =>
        (await it.world.ask(`${host}/`, { method: 'POST', body, headers })).status;
      const sized = (bytes: number) => post('x'.repeat(bytes), { 'Content-Length': String(bytes) });
      expect((await it.world.ask(`${denied}/`)).status).toBe(403);
      expect(await sized(4 * 1024 * 1024)).toBe(413);
      expect(await sized(2 * 1024 * 1024)).toBe(200);
      expect(await post('hello', { 'Transfer-Encoding': 'chunked' })).toBe(200);
      // Copies are sent in any order: that of a later request shows that there are no others.
      expect(await sized(3)).toBe(200);
      await copied(1);
      expect(copies[0]?.body).toBe('xxx');
    });

    test('do not affect clients if the server is unreachable or does not answer', async () => {
      const deaf = new TcpServer();
      await deaf.start();
      for (const target of [
        `http://copy.example.com:${deaf.port}/`,
        `http://copy.example.com:${CLOSED_PORTS[0]}/`,
        'http://unknown.example.com/',
      ]) {
        const host = await mirror({ 'mirror-target': target });
        for (let repeat = 0; repeat < 3; repeat++)
          expect(await it.world.respondingBackend(`${host}/`)).toBe('web');
      }
      await deaf.stop();
    });

    test('are for requests that have authenticated, without the password', async () => {
      const hash = `{SHA}${createHash('sha1').update('pw').digest('base64')}`;
      it.cluster.put('Secret', users('mirrored', { auth: `ann:${hash}\n` }));
      const host = await mirror({ 'auth-type': 'basic', 'auth-secret': 'mirrored' });
      expect(await it.world.respondingBackend(`${host}/`)).toBe(401);
      const headers = { Authorization: `Basic ${Buffer.from('ann:pw').toString('base64')}` };
      expect(await it.world.respondingBackend(`${host}/`, { headers })).toBe('web');
      await copied(1);
      expect(copies[0]?.headers.authorization).toBe(undefined);
    });
  });
}
