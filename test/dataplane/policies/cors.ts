import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { Backend } from '../support/backend.ts';
import { askHttp2, askRaw, http2Session, statusOf } from '../support/client.ts';
import { GrpcBackend, grpcFrame } from '../support/grpc-backend.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

const OWN = 'access-control-';

/** The headers of a response that are for browsers. */
const corsOf = (headers: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name.startsWith(OWN))
      .map(([name, value]) => [name.slice(OWN.length), value]),
  );

const DEFAULTS = {
  'allow-credentials': 'true',
  'allow-methods': 'GET, PUT, POST, DELETE, PATCH, OPTIONS',
  'allow-headers':
    'DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization',
  'max-age': '1728000',
};

/** Use of a route by browsers from other sites, and the host that backends get. */
export function cors(make: MakeDriver): void {
  describe('sites that may use a route', () => {
    let it: PolicyCluster;
    let own: Backend;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      own = await Backend.start('own', {
        handle: (_, response) =>
          response
            .setHeader('Access-Control-Allow-Origin', 'https://own.io')
            .setHeader('X-Own', '1')
            .end('own'),
      });
      it.cluster.put('Service', service('own', ['http:80']));
      it.cluster.put('EndpointSlice', slice('own', { '127.0.0.1': {} }, { ports: { http: own.port } }));
    });
    afterAll(async () => {
      await it.stop();
      await own.stop();
    });

    const from = (Origin: string, method = 'GET') => ({ method, headers: { Origin } });

    test('are shown to caches', async () => {
      const annotations = { 'enable-cors': 'true', 'cors-allow-origin': 'https://a.io' };
      await it.serve({ 'vary.io/': 'web:80', 'vary.io/own': 'own:80' }, annotations);
      for (const [path, origin, method] of [
        ['/', 'https://a.io', 'GET'],
        ['/', 'https://evil.io', 'GET'],
        ['/own', 'https://evil.io', 'GET'],
        ['/', 'https://a.io', 'OPTIONS'],
      ] as const)
        expect((await it.world.ask(`vary.io${path}`, from(origin, method))).headers.vary).toBe('Origin');
      expect((await it.world.ask('vary.io/')).headers.vary).toBe('Origin');
      await it.serve({ 'star.io/': 'web:80' }, { 'enable-cors': 'true' });
      expect((await it.world.ask('star.io/', from('https://a.io'))).headers.vary).toBe(undefined);
    });

    test('are added to what the response of the backend depends on', async () => {
      const varying = await Backend.start('varying', {
        handle: ({ url }, response) => response.setHeader('Vary', url?.slice(1).split('-') ?? '').end(),
      });
      it.cluster.put('Service', service('varying', ['http:80']));
      it.cluster.put(
        'EndpointSlice',
        slice('varying', { '127.0.0.1': {} }, { ports: { http: varying.port } }),
      );
      const annotations = { 'enable-cors': 'true', 'cors-allow-origin': 'https://a.io' };
      await it.serve({ 'varies.io/': 'varying:80' }, annotations);
      const varies = async (path: string) => (await it.world.ask(`varies.io/${path}`)).headers.vary;
      expect(await varies('Cookie')).toBe('Cookie, Origin');
      expect(await varies('Cookie-Accept')).toBe('Cookie, Accept, Origin');
      expect(await varies('origin')).toBe('origin');
      expect(await varies('*')).toBe('*');
      await varying.stop();
    });

    test('cannot be two at once', async () => {
      const annotations = { 'enable-cors': 'true', 'cors-allow-origin': 'https://a.io' };
      await it.serve({ 'twice.io/': 'web:80' }, annotations);
      const text =
        'OPTIONS / HTTP/1.1\r\nHost: twice.io\r\nConnection: close\r\nOrigin: https://a.io\r\nOrigin: https://evil.io\r\n\r\n';
      expect(statusOf(await askRaw(it.world.ports.http, text))).toBe(400);
    });

    test('are all by default, and preflight requests do not reach the backend', async () => {
      await it.serve({ 'all.io/': 'web:80' }, { 'enable-cors': 'true' });
      const response = await it.world.ask('all.io/x', from('https://a.io'));
      expect(response.echo.backend).toBe('web');
      expect(corsOf(response.headers)).toEqual({ 'allow-origin': '*', ...DEFAULTS });
      const preflight = await it.world.ask('all.io/x', from('https://a.io', 'OPTIONS'));
      expect(preflight.status).toBe(204);
      expect(preflight.body).toBe('');
      expect(corsOf(preflight.headers)).toEqual({ 'allow-origin': '*', ...DEFAULTS });
    });

    test('can be listed, with a place for one label', async () => {
      const origins = 'https://a.io, https://*.b.io:8443,app://Shop';
      await it.serve({ 'list.io/': 'web:80' }, { 'enable-cors': 'true', 'cors-allow-origin': origins });
      const cases: [string, boolean][] = [
        ['https://a.io', true],
        ['HTTPS://A.io', true],
        ['http://a.io', false],
        ['https://a.io.evil.io', false],
        ['https://evil.io/https://a.io', false],
        ['https://x.b.io:8443', true],
        ['https://x.b.io', false],
        ['https://x.y.b.io:8443', false],
        ['https://.b.io:8443', false],
        ['https://evil.io/.b.io:8443', false],
        ['app://shop', true],
        ['null', false],
      ];
      for (const [origin, isAllowed] of cases) {
        const { headers, echo } = await it.world.ask('list.io/', from(origin));
        expect({ origin, cors: corsOf(headers) }).toEqual({
          origin,
          cors: isAllowed ? { 'allow-origin': origin, ...DEFAULTS } : {},
        });
        expect(echo.backend).toBe('web');
        const preflight = await it.world.ask('list.io/', from(origin, 'OPTIONS'));
        expect({ origin, status: preflight.status }).toEqual({ origin, status: isAllowed ? 204 : 200 });
      }
      expect(corsOf((await it.world.ask('list.io/')).headers)).toEqual({});
    });

    test('all options become headers, which replace those of the backend', async () => {
      await it.serve(
        { 'opt.io/': 'own:80' },
        {
          'enable-cors': 'true',
          'cors-allow-methods': 'GET, PUT',
          'cors-allow-headers': 'X-A,X_B',
          'cors-allow-credentials': 'false',
          'cors-expose-headers': '*, X-C',
          'cors-max-age': '60',
        },
      );
      const expected = {
        'allow-origin': '*',
        'allow-methods': 'GET, PUT',
        'allow-headers': 'X-A,X_B',
        'expose-headers': '*, X-C',
        'max-age': '60',
      };
      const { headers } = await it.world.ask('opt.io/', from('https://a.io'));
      expect(corsOf(headers)).toEqual(expected);
      expect(headers['x-own']).toBe('1');
      const session = http2Session(it.world.ports.https, 'opt.io');
      expect(corsOf((await askHttp2(session, 'opt.io/')).headers)).toEqual(expected);
      expect((await askHttp2(session, 'opt.io/', from('https://a.io', 'OPTIONS'))).status).toBe(204);
      session.destroy();
    });

    test('get the headers with answers of the router too, and preflight requests need no access', async () => {
      const annotations = { 'enable-cors': 'true', 'denylist-source-range': '127.0.0.1' };
      await it.serve({ 'deny.io/': 'web:80' }, annotations);
      const { status, headers } = await it.world.ask('deny.io/', from('https://a.io'));
      expect(status).toBe(403);
      expect(corsOf(headers)['allow-origin']).toBe('*');
      expect((await it.world.ask('deny.io/', from('https://a.io', 'OPTIONS'))).status).toBe(204);
    });

    test('a body of unknown length gets the headers too', async () => {
      await it.serve(
        { 'body.io/': 'web:80' },
        { 'enable-cors': 'true', 'proxy-body-size': '1k', 'upstream-vhost': 'inner.io:81' },
      );
      const headers = { 'Transfer-Encoding': 'chunked', Origin: 'https://a.io' };
      const response = await it.world.ask('body.io/', { method: 'POST', headers, body: 'abc' });
      expect(response.echo.bodyBytes).toBe(3);
      expect(response.echo.headers.host).toBe('inner.io:81');
      expect(corsOf(response.headers)['allow-origin']).toBe('*');
    });

    test.each([
      ['cors-allow-origin', 'https://a.io/path'],
      ['cors-allow-origin', 'a.io"; add_header X y'],
      ['cors-allow-methods', 'GET\r\nX: y'],
      ['cors-allow-headers', 'a;b'],
      ['cors-max-age', 'long'],
      ['enable-cors', 'yes'],
      ['upstream-vhost', '$host'],
      ['upstream-vhost', 'a.io\r\nX: y'],
    ])('%s: %j closes the paths', async (name, value) => {
      const host = `${name}-${value.length}.io`;
      await it.serve({ [`${host}/`]: 'web:80' }, { 'enable-cors': 'true', [name]: value });
      expect(await it.world.respondingBackend(`${host}/`)).toBe(503);
    });

    test('a backend with gRPC gets another host, and its responses get the headers', async () => {
      const grpc = new GrpcBackend();
      await grpc.start();
      it.cluster.put('Service', service('grpc', ['http:80']));
      it.cluster.put('EndpointSlice', slice('grpc', { '127.0.0.1': {} }, { ports: { http: grpc.port } }));
      await it.serve(
        { 'grpc.io/': 'grpc:80' },
        { 'backend-protocol': 'GRPC', 'enable-cors': 'true', 'upstream-vhost': 'inner.io' },
      );
      const session = http2Session(it.world.ports.https, 'grpc.io');
      const headers = { 'content-type': 'application/grpc', te: 'trailers' };
      const response = await askHttp2(session, 'grpc.io/echo.Echo/Say', {
        method: 'POST',
        headers,
        body: grpcFrame('hello'),
      });
      expect(response.status).toBe(200);
      expect(response.headers['x-authority']).toBe('inner.io');
      expect(corsOf(response.headers)['allow-origin']).toBe('*');
      session.destroy();
      await grpc.stop();
    });

    test('a backend gets another host', async () => {
      await it.serve({ 'outer.io/': 'web:80' }, { 'upstream-vhost': 'inner.io' });
      const { echo } = await it.world.ask('outer.io/');
      expect(echo.headers.host).toBe('inner.io');
      expect(echo.headers['x-forwarded-host']).toBe('outer.io');
      expect((await it.world.askSecurely('outer.io/')).echo.headers.host).toBe('inner.io');
    });
  });
}
