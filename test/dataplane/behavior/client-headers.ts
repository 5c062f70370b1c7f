import type { ClientHttp2Session } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  isProxyHeader,
  PROXY_HEADER_PREFIXES,
  PROXY_HEADERS,
} from '../../../packages/tidegate/src/ingress/client-headers.ts';
import { askHttp2, http2Session } from '../support/client.ts';
import { GrpcBackend, grpcFrame } from '../support/grpc-backend.ts';
import { host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Headers that only proxies may set. The list is part of the contract: docs/security.md repeats it. */
const FORGED = [
  ...PROXY_HEADERS,
  ...PROXY_HEADER_PREFIXES.map((prefix) => `${prefix}x`),
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto', 'x-forwarded-prefix'],
  ...[
    'x-forwarded-scheme',
    'x-forwarded-ssl',
    'x-forwarded-server',
    'x-forwarded-client-cert',
    'x-forwarded-user',
  ],
  ...['x-forwarded-uri', 'x-forwarded-form', 'x-original-url', 'x-original-uri', 'x-original-host'],
  ...['x-original-forwarded-for', 'x-original-method', 'ssl-client-verify', 'ssl-client-subject-dn'],
];
/** Names that look similar, and are not discarded. */
const HARMLESS = [
  'x-forward',
  'x-originals',
  'x-schemes',
  'x-custom',
  'client',
  'ssl-clients',
  'origin',
  'referer',
];
/** The headers of the router itself. */
const SET = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto', 'x-real-ip'];
const SENT = Object.fromEntries([...FORGED, ...HARMLESS].map((name) => [name, 'forged']));
const spelled = (change: (name: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(SENT).map(([name, value]) => [change(name), value]));

/** What endpoints get of the headers with which a client could pretend to be a proxy. */
export function clientHeaders(make: MakeDriver): void {
  describe('headers that only proxies may set', () => {
    let world: World;
    let session: ClientHttp2Session;
    const grpc = new GrpcBackend();

    beforeAll(async () => {
      world = await World.start(make);
      const echo = await world.backend('echo');
      await grpc.start();
      await world.change({
        hosts: [host('echo.io', 'echo'), host('grpc.io', 'grpc')],
        upstreams: [upstream('echo', [echo.port]), upstream('grpc', [grpc.port], { protocol: 'grpc' })],
      });
      session = http2Session(world.ports.https, 'echo.io');
    });
    afterAll(async () => {
      session.destroy();
      await world.stop();
      await grpc.stop();
    });

    const expectDiscarded = (seen: Record<string, unknown>): void => {
      expect(Object.keys(seen).filter(isProxyHeader).sort()).toEqual(SET);
      expect(SET.filter((name) => seen[name] === 'forged')).toEqual([]);
      for (const name of HARMLESS) expect(seen).toHaveProperty(name, 'forged');
    };

    test.each<[string, Record<string, string | string[]>]>([
      ['in lower case', SENT],
      ['in upper case', spelled((name) => name.toUpperCase())],
      ['with an upgrade', { ...SENT, Connection: 'upgrade, x-mine', Upgrade: 'h2c' }],
      ['with a connection option that names one', { ...SENT, Connection: 'close, x-forwarded-prefix' }],
      ['with a name that is not valid', { ...SENT, x_under: '1', 'X-Forwarded_Prefix': 'forged' }],
      [
        'several times',
        Object.fromEntries(
          Object.entries(SENT).map(([name]) => [name, HARMLESS.includes(name) ? 'forged' : ['a', 'b']]),
        ),
      ],
    ])('are discarded %s', async (_, headers) => {
      expectDiscarded((await world.ask('echo.io/', { headers })).echo.headers);
      expectDiscarded((await world.askSecurely('echo.io/', { headers })).echo.headers);
    });

    test.each([...FORGED])('%s alone is discarded', async (name) => {
      const { echo } = await world.ask('echo.io/', { headers: { [name]: 'forged', accept: 'a/b' } });
      expect(Object.keys(echo.headers).filter(isProxyHeader).sort()).toEqual(SET);
      expect(Object.values(echo.headers)).not.toContain('forged');
    });

    test('are discarded with a body of unknown length', async () => {
      const headers = { ...SENT, 'Transfer-Encoding': 'chunked' };
      expectDiscarded((await world.ask('echo.io/', { method: 'POST', headers, body: 'abc' })).echo.headers);
    });

    test('are discarded over HTTP/2', async () => {
      expectDiscarded((await askHttp2(session, 'echo.io/', { headers: SENT })).echo.headers);
    });

    test('are discarded for gRPC', async () => {
      const headers = { ...SENT, 'content-type': 'application/grpc', te: 'trailers' };
      const answer = await askHttp2(session, 'grpc.io/echo.Echo/Say', {
        method: 'POST',
        headers,
        body: grpcFrame('x'),
      });
      const names = `${answer.headers['x-names']}`.split(',');
      expect(names.filter(isProxyHeader).sort()).toEqual(SET);
      expect(names).toEqual(expect.arrayContaining(HARMLESS));
    });
  });
}
