import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  applyDelta,
  comparePrecedence,
  decide,
  EMPTY_TABLE,
  match,
  type RouteTable,
} from '../../packages/tidegate/src/ingress/match/index.ts';
import type { HeaderMatch, HostRoutes, Upstream } from '../../packages/tidegate/src/ingress/model.ts';
import type { RoutePolicy } from '../../packages/tidegate/src/ingress/policy/index.ts';
import { compilePattern } from '../../packages/tidegate/src/ingress/regex/index.ts';
import type { Echo } from './support/backend.ts';
import { askHttp2, askRaw, http2Session, statusOf } from './support/client.ts';
import { action, delta, host, route, upstream } from './support/words.ts';
import { type MakeDriver, World } from './support/world.ts';

const UPSTREAMS = ['p0', 'p1', 'p2'] as const;
const EMPTY_UPSTREAM = 'empty';

const anyUpstream = fc.constantFrom(...UPSTREAMS, EMPTY_UPSTREAM);
const element = fc.constantFrom(
  ...['a', 'b', 'aa', 'A', '%2F', '%61', '', 'a.b', '(.*)', '"{};$'],
  ...['a;x', 'a\\b', '%2561', 'a;%5Cb'],
);
const anyPath = fc.array(element, { maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
const network = (...octets: number[]) => ({ octets, bits: octets.length * 8 - 8 });
const [loopback, elsewhere] = [network(127, 0, 0, 0), network(10, 0, 0, 0)];
const anyPolicy = fc.constantFrom<(RoutePolicy | undefined)[]>(
  undefined,
  undefined,
  undefined,
  { sources: { allow: [loopback], deny: [] } },
  { sources: { allow: [elsewhere], deny: [] } },
  { sources: { allow: [], deny: [elsewhere, loopback] } },
  { secure: true, sources: { allow: [elsewhere, loopback], deny: [] } },
  { redirect: { status: 307, to: ['https://y.io', { variable: 'uri' }, '?', { variable: 'args' }] } },
);
/** A regular expression, and a rewrite with its groups. */
const anyRegex = fc.constantFrom('/a(/|$)(.*)', '/(a|A)b*/?(.*)', '/(%61|.*)/(b)', '/.*', '/(a)|/(b)$', '/A');
const anyTarget = fc.constantFrom<(string | number)[][]>(
  ['/', 2],
  ['/x', 1, '/', 2, '?q'],
  [1],
  ['/.', 2],
  ['/y?'],
);
const REWRITTEN = new Set([1, 2]);

const plainRoute = fc
  .record({
    path: anyPath,
    policy: anyPolicy,
    kind: fc.constantFrom('Exact' as const, 'Prefix' as const),
    upstream: anyUpstream,
    headers: fc.constantFrom<HeaderMatch[][]>(
      [],
      [],
      [{ name: 'x-v', value: '1' }],
      [{ name: 'x-v', value: '2' }],
    ),
  })
  .map(({ path, kind, upstream: to, headers, policy }) =>
    route(kind === 'Prefix' ? path.replace(/\/+$/, '') || '/' : path, to, {
      match: kind,
      headers,
      ...(policy && { policy }),
    }),
  );
const regexRoute = fc
  .record({ path: anyRegex, policy: anyPolicy, target: fc.option(anyTarget), upstream: anyUpstream })
  .map(({ path, policy, target, upstream: to }) =>
    route(path, to, {
      match: 'Regex',
      pattern: compilePattern(`^${path}`, REWRITTEN),
      policy: { ...policy, ...(target && { rewrite: { target } }) },
    }),
  );
const anyRoute = fc.oneof({ weight: 4, arbitrary: plainRoute }, { weight: 1, arbitrary: regexRoute });
const HOSTS = ['', 'x.io', 'a.x.io', '*.x.io', '*.a.x.io', '*.io'] as const;

const anyHost = fc
  .record({
    name: fc.constantFrom(...HOSTS),
    routes: fc.array(anyRoute, { maxLength: 5 }),
    fallback: fc.option(anyUpstream, { nil: undefined, freq: 2 }),
    redirectToHttps: fc.constantFrom(false, false, false, true),
  })
  .map(({ name, routes, fallback, redirectToHttps }) =>
    host(name, [...routes].sort(comparePrecedence), {
      ...(fallback !== undefined && { fallback: action(fallback) }),
      ...(redirectToHttps && { redirectToHttps }),
      ...(routes.some(({ action: to }) => to.policy?.sources) && { guarded: true }),
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
        ...[
          '/a/%2e',
          '/a%5c%2e%2e%5cb',
          '/;/a',
          '/a;b',
          '/%41',
          '//A',
          '/A;x/b',
          '/%61%20%3f',
          '/b\\\\a',
          '/a/.b',
          '/%',
          '/%zz',
        ],
      ),
    },
  ),
  query: fc.constantFrom('', '', '?', '?a=/../b', '?a=%00&b=?'),
  version: fc.constantFrom('', '', '1', '2', 'x'),
  by: fc.constantFrom('http' as const, 'http' as const, 'https' as const, 'http2' as const),
});

/** A change of the table, incremental or complete, and requests to send after it. */
const anyStep = fc.record({
  whole: fc.constantFrom(false, false, true),
  hosts: anyHosts,
  remove: fc.subarray([...HOSTS]),
  requests: fc.array(anyRequest, { minLength: 5, maxLength: 15 }),
});

interface Asked {
  host: string;
  target: string;
  version: string;
  by: 'http' | 'https' | 'http2';
}

/** Compares the data plane with the reference implementation, for random tables and requests. */
export function differential(make: MakeDriver, runs: number): void {
  let world: World;
  let upstreams: Upstream[] = [];
  let table = EMPTY_TABLE;

  beforeAll(async () => {
    world = await World.start(make);
    const ports = await Promise.all(UPSTREAMS.map(async (name) => (await world.backend(name)).port));
    upstreams = [...UPSTREAMS.map((name, at) => upstream(name, [ports[at]!])), upstream(EMPTY_UPSTREAM, [])];
  });
  afterAll(() => world.stop());

  const take = async ({
    whole,
    hosts,
    remove,
  }: {
    whole: boolean;
    hosts: HostRoutes[];
    remove: string[];
  }) => {
    const from = whole ? 0 : table.generation;
    const next = delta(from, table.generation + 1, {
      hosts,
      upstreams,
      without: { hosts: whole ? [] : remove },
    });
    table = applyDelta(table, next);
    await world.driver.apply(next);
  };

  const actual = async (asked: Asked): Promise<unknown> => {
    const { status, location, body } = await (asked.by === 'http2' ? byHttp2 : byHttp1)(world, asked);
    if (status === 308 || status === 307) return location;
    if (status !== 200) return status;
    const { backend, url } = JSON.parse(/\{"backend".*\}/.exec(body)?.[0] ?? '') as Echo;
    return `${backend} ${url}`;
  };

  test('routes like the reference implementation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 3 }), async (steps) => {
        for (const { requests, ...step } of steps) {
          await take(step);
          const asked = requests.map(
            ({ path, query, ...more }): Asked => ({ ...more, target: path + query }),
          );
          const answers = await Promise.all(asked.map(async (each) => ({ ...each, to: await actual(each) })));
          expect(answers).toEqual(asked.map((each) => ({ ...each, to: expected(table, each) })));
        }
      }),
      { numRuns: runs },
    );
  });
}

function expected(table: RouteTable, { host: at, target, version, by }: Asked): unknown {
  const headers = version === '' ? {} : { 'x-v': version };
  const found = match(table, { host: at, path: target, headers, secure: by !== 'http' });
  switch (found.kind) {
    case 'route': {
      const { upstream: to } = found.action.backends[0]!;
      const request = { client: '127.0.0.1', secure: by !== 'http', authority: at, target };
      const decision = decide(found, { ...request, name: found.name, path: found.path });
      if (decision.kind === 'answer') return decision.location ?? decision.status;
      return to === EMPTY_UPSTREAM ? 503 : `${to} ${decision.target}`;
    }
    case 'appRoot':
      return found.path;
    case 'redirect':
      return `https://${found.name}${target}`;
    case 'notFound':
      return 404;
    case 'tooManySteps':
      return 503;
    case 'badRequest':
      return 400;
  }
}

interface Answered {
  status: number;
  location: string | undefined;
  body: string;
}

async function byHttp1({ ports }: World, { host: at, target, version, by }: Asked): Promise<Answered> {
  const more = version === '' ? '' : `X-V: ${version}\r\n`;
  const bytes = `GET ${target} HTTP/1.1\r\nHost: ${at}\r\n${more}Connection: close\r\n\r\n`;
  const body = await askRaw(by === 'https' ? ports.https : ports.http, bytes, { secure: by === 'https' });
  return { status: statusOf(body), location: /^location: (.*)$/im.exec(body)?.[1], body };
}

async function byHttp2({ ports }: World, { host: at, target, version }: Asked): Promise<Answered> {
  const session = http2Session(ports.https, 'x.io');
  try {
    const headers = { ':authority': at, ':path': target, ...(version !== '' && { 'x-v': version }) };
    const { status, headers: head, body } = await askHttp2(session, '', { headers });
    return { status, location: head.location, body };
  } catch (error) {
    // HTTP/2 forbids some of these requests by itself, which counts as a rejection.
    if (!/PROTOCOL_ERROR/.test((error as Error).message)) throw error;
    return { status: 400, location: undefined, body: '' };
  } finally {
    session.destroy();
  }
}
