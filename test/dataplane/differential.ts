import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyDelta, comparePrecedence, EMPTY_TABLE, match } from '../../src/ingress/match/index.ts';
import type { HeaderMatch, HostRoutes } from '../../src/ingress/model.ts';
import { askRaw, statusOf } from './support/client.ts';
import { action, delta, host, pool, route } from './support/words.ts';
import { type MakeDriver, World } from './support/world.ts';

const POOLS = ['p0', 'p1', 'p2'] as const;
const EMPTY_POOL = 'empty';

const anyPool = fc.constantFrom(...POOLS, EMPTY_POOL);
const element = fc.constantFrom('a', 'b', 'aa', 'A', '%2F', '%61', '', 'a.b', '(.*)', '"{};$');
const anyPath = fc.array(element, { maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
const anyRoute = fc
  .record({
    path: anyPath,
    kind: fc.constantFrom('Exact' as const, 'Prefix' as const),
    pool: anyPool,
    headers: fc.constantFrom<HeaderMatch[][]>(
      [],
      [],
      [{ name: 'x-v', value: '1' }],
      [{ name: 'x-v', value: '2' }],
    ),
  })
  .map(({ path, kind, pool: to, headers }) =>
    route(kind === 'Prefix' ? path.replace(/\/+$/, '') || '/' : path, to, { match: kind, headers }),
  );
const anyHost = fc
  .record({
    name: fc.constantFrom('', 'x.io', 'a.x.io', '*.x.io', '*.a.x.io', '*.io'),
    routes: fc.array(anyRoute, { maxLength: 5 }),
    fallback: fc.option(anyPool, { nil: undefined, freq: 2 }),
    redirectToHttps: fc.constantFrom(false, false, false, true),
  })
  .map(({ name, routes, fallback, redirectToHttps }) =>
    host(name, [...routes].sort(comparePrecedence), {
      ...(fallback !== undefined && { fallback: action(fallback) }),
      ...(redirectToHttps && { redirectToHttps }),
    }),
  );
const anyHosts = fc.uniqueArray(anyHost, { selector: ({ host: name }) => name, maxLength: 5 });

const anyRequest = fc.record({
  host: fc.constantFrom(
    ...['x.io', 'X.IO', 'a.x.io', 'b.x.io:80', 'b.a.x.io.', 'y.io', '10.0.0.1', '[::1]:80', 'io', 'a_b.x.io'],
    ...['a..io', '*.x.io', 'x.io:80:80', 'x io', 'a/b', '.', 'x.io..'],
  ),
  path: fc.oneof(
    { weight: 4, arbitrary: anyPath },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...[
          '/a/../b',
          '/a/./b',
          '/%2e%2e/a',
          '/a%2f..',
          '/a\\..\\b',
          '/a/..;/b',
          '/.',
          '/a/...',
          '//',
          '/a#b',
          '*',
          'a',
        ],
        ...['/a/%2e', '/a%5c%2e%2e%5cb', '/;/a', '/a;b', '/a/.b', '/%', '/%zz'],
      ),
    },
  ),
  query: fc.constantFrom('', '', '?', '?a=/../b', '?a=%00&b=?'),
  version: fc.constantFrom(undefined, undefined, '1', '2', 'x'),
});

/** The reference says where a request goes; so does the data plane, whatever the table and the request. */
export function differential(make: MakeDriver, runs: number): void {
  let world: World;

  beforeAll(async () => {
    world = await World.start(make);
    const ports = await Promise.all(POOLS.map(async (name) => (await world.backend(name)).port));
    pools = [...POOLS.map((name, at) => pool(name, [ports[at]!])), pool(EMPTY_POOL, [])];
  });
  afterAll(async () => {
    await world.stop();
  });
  let pools: ReturnType<typeof pool>[] = [];

  const expected = (
    hosts: HostRoutes[],
    asked: { host: string; target: string; version?: string },
  ): unknown => {
    const table = applyDelta(EMPTY_TABLE, delta(0, 1, { hosts }));
    const headers = { 'x-v': asked.version };
    const found = match(table, { host: asked.host, path: asked.target, headers, secure: false });
    switch (found.kind) {
      case 'route': {
        const { pool: to } = found.action.backends[0]!;
        return to === EMPTY_POOL ? 503 : to;
      }
      case 'redirect':
        return `https://${found.name}${asked.target}`;
      case 'notFound':
        return 404;
      case 'badRequest':
        return 400;
    }
  };

  const actual = async (asked: { host: string; target: string; version?: string }): Promise<unknown> => {
    const version = asked.version === undefined ? '' : `X-V: ${asked.version}\r\n`;
    const said = await askRaw(
      world.ports.http,
      `GET ${asked.target} HTTP/1.1\r\nHost: ${asked.host}\r\n${version}Connection: close\r\n\r\n`,
    );
    const status = statusOf(said);
    if (status === 308) return /^location: (.*)$/im.exec(said)?.[1];
    return status === 200 ? /"backend":"([^"]+)"/.exec(said)?.[1] : status;
  };

  test('it goes by the table as the reference does', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyHosts,
        fc.array(anyRequest, { minLength: 10, maxLength: 20 }),
        async (hosts, requests) => {
          await world.replace({ hosts, pools });
          const asked = requests.map(({ host: at, path, query, version }) => ({
            host: at,
            target: path + query,
            ...(version !== undefined && { version }),
          }));
          const answers = await Promise.all(asked.map(async (each) => ({ ...each, to: await actual(each) })));
          expect(answers).toEqual(asked.map((each) => ({ ...each, to: expected(hosts, each) })));
        },
      ),
      { numRuns: runs },
    );
  });
}
