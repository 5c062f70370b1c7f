import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../../packages/tidegate/src/ingress/model.ts';
import { askRaw, statusOf } from '../support/client.ts';
import { action, type Change, host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Requests with the name of the backend that responds, or the status of an error response. */
export const REQUESTS: readonly [string, string | number][] = [
  ['a.example.com/foo', 'one'],
  ['a.example.com/foo/', 'two'],
  ['a.example.com/foo?x=/bar', 'one'],
  ['a.example.com/foo/bar/baz', 'two'],
  ['a.example.com/foobar', 404],
  ['a.example.com/FOO', 404],
  ['a.example.com/foo%2Fbar', 404],
  ['a.example.com//foo', 404],
  ['A.Example.Com/foo', 'one'],
  ['a.example.com./foo', 'one'],
  ['a.example.com:8080/foo', 'one'],
  ['c.example.com/anything', 'one'],
  ['c.d.example.com/anything', 404],
  ['example.com/', 404],
  ['b.example.com/x', 'one'],
  ['b.example.com/y', 'two'],
  ['a.example.com/everywhere', 'two'],
  // The rules for all hosts are of namespace shop.
  ['owned.rival.org/everywhere', 404],
  ['owned.rival.org/rivals', 'one'],
  ['x.owned.rival.org/everywhere', 404],
  ['y.x.owned.rival.org/everywhere', 404],
  ['y.x.owned.rival.org/rivals', 'one'],
  ['else.where/rivals', 'one'],
  ['else.where/everywhere/x', 'two'],
  ['10.0.0.1/everywhere', 'two'],
  ['else.where/', 404],
  ['missing.example.com/service', 503],
  ['missing.example.com/weightless', 503],
  ['*.example.com/anything', 400],
  ['*/everywhere', 400],
  ['a..b/', 400],
  ['a_b!/', 400],
  ['a.example.com/foo/../bar', 400],
  ['a.example.com/foo/%2e%2e/bar', 400],
  ['a.example.com/foo/..;/bar', 400],
  ['a.example.com/foo%5c..%5cbar', 400],
];

const ofRival = ({ action: own, ...rest }: Route): Route => ({
  ...rest,
  action: { ...own, source: { ...own.source, namespace: 'rival' } },
});

/** The table that `REQUESTS` are about. The arguments are ports of the two endpoints. */
export const routingTable = (one: number, two: number): Change => ({
  hosts: [
    host('a.example.com', [
      route('/foo/bar', 'two'),
      route('/foo', 'one', { match: 'Exact' }),
      route('/foo', 'two'),
      route('/v', 'two', { headers: [{ name: 'x-version', value: '2' }] }),
      route('/v', 'one'),
    ]),
    host('*.example.com', 'one'),
    host('owned.rival.org', [], { namespace: 'rival' }),
    host('*.owned.rival.org', [route('/x', 'one')], { namespace: 'rival' }),
    host('b.example.com', [route('/x', 'one')], { fallback: action('two') }),
    host('missing.example.com', [route('/service', 'none'), route('/weightless', { one: 0 })]),
    host('secure.example.com', 'one', { redirectToHttps: true }),
    host('', [route('/everywhere', 'two'), ofRival(route('/rivals', 'one'))]),
  ],
  upstreams: [upstream('one', [one]), upstream('two', [two]), upstream('none', [], { problem: 'noService' })],
});

/** Which route a request takes, and the response if there is none. */
export function routing(make: MakeDriver): void {
  describe('routing', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start(make);
      const one = await world.backend('one');
      const two = await world.backend('two');
      await world.change(routingTable(one.port, two.port));
    });
    afterAll(() => world.stop());

    test.each(REQUESTS)('sends %s to %s', async (where, expected) =>
      expect(await world.respondingBackend(where)).toBe(expected),
    );

    test('gives the same result for repeated requests', async () => {
      for (let again = 0; again < 4; again++)
        for (const [where, expected] of REQUESTS) expect(await world.respondingBackend(where)).toBe(expected);
    });

    test('matches headers', async () => {
      expect(await world.respondingBackend('a.example.com/v', { headers: { 'X-Version': '2' } })).toBe('two');
      expect(await world.respondingBackend('a.example.com/v', { headers: { 'X-Version': '3' } })).toBe('one');
      expect(await world.respondingBackend('a.example.com/v')).toBe('one');
    });

    test('does not reveal Services and endpoints in its own responses', async () => {
      for (const where of ['else.where/', 'missing.example.com/service', 'a..b/']) {
        const { body, headers } = await world.ask(where);
        expect(body).toMatch(/^[a-z ]+\n$/);
        expect(headers['content-type']).toBe('text/plain; charset=utf-8');
        expect(headers.server).toBe('tidegate');
      }
    });

    test('redirects to HTTPS if the host requires it', async () => {
      const { status, headers } = await world.ask('secure.example.com:80/a%2Fb?c=d', { method: 'POST' });
      expect(status).toBe(308);
      expect(headers.location).toBe('https://secure.example.com/a%2Fb?c=d');
      expect((await world.askSecurely('secure.example.com/')).echo.backend).toBe('one');
    });

    test('uses the routes for all hosts without a Host header', async () => {
      expect(statusOf(await askRaw(world.ports.http, 'GET /everywhere HTTP/1.0\r\n\r\n'))).toBe(200);
      expect(statusOf(await askRaw(world.ports.http, 'GET /foo HTTP/1.0\r\n\r\n'))).toBe(404);
    });

    test.each([
      [
        'two hosts',
        'GET / HTTP/1.1\r\nHost: a.example.com\r\nHost: b.example.com\r\nConnection: close\r\n\r\n',
      ],
      ['an empty host', 'GET / HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n'],
      ['%00', 'GET /everywhere/%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
      ['a % alone', 'GET /everywhere/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
      ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
      ['a control character', 'GET /a\x01b HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n'],
      ['a fragment', 'GET /foo#bar HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n'],
      ['no path', 'OPTIONS * HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n'],
      [
        'two lengths',
        'POST /foo HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      ],
      [
        'a length and chunks',
        'POST /foo HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ],
    ])('rejects a request with %s', async (_, bytes) =>
      expect(statusOf(await askRaw(world.ports.http, bytes))).toBe(400),
    );

    const head = (line: string, more = '') =>
      `${line}\r\nHost: a.example.com\r\nConnection: close\r\n${more}\r\n`;

    test.each([
      [405, 'the method TRACE', head('TRACE /foo HTTP/1.1')],
      [400, 'chunked encoding in HTTP/1.0', head('POST /foo HTTP/1.0', 'Transfer-Encoding: chunked\r\n')],
      [501, 'an unknown transfer coding', head('POST /foo HTTP/1.1', 'Transfer-Encoding: gzip, chunked\r\n')],
      [505, 'another protocol', head('GET /foo HTTP/2.0')],
      [400, 'a folded header', head('GET /foo HTTP/1.1', 'X-Folded: a\r\n b\r\n')],
      [400, 'a space before the colon', head('GET /foo HTTP/1.1', 'X-Space : a\r\n')],
      [400, 'a method in lower case', head('get /foo HTTP/1.1')],
    ])('responds with %i for %s', async (status, _, bytes) =>
      expect(statusOf(await askRaw(world.ports.http, bytes))).toBe(status),
    );

    test('rejects CONNECT', async () => {
      const said = await askRaw(world.ports.http, head('CONNECT a.example.com:443 HTTP/1.1'));
      expect([400, 405]).toContain(statusOf(said));
    });
  });
}
