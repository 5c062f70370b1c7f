import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Delta, HeaderMatch, HostRoutes, Route, RouteAction } from '../model.ts';
import { explain, type MatchRequest, match } from './match.ts';
import { comparePrecedence } from './path.ts';
import { applyDelta, EMPTY_TABLE, type RouteTable } from './table.ts';

const action = (name: string): RouteAction => ({
  backends: [{ upstream: name, weight: 1 }],
  limits: {},
  source: { kind: 'Ingress', namespace: 'shop', name, rule: 0, path: 0 },
});

const route = (path: string, kind: Route['match'], headers: HeaderMatch[] = []): Route => ({
  path,
  match: kind,
  headers,
  action: action(`${kind} ${path}`),
});

const host = (name: string, routes: Route[], more: Partial<HostRoutes> = {}): HostRoutes => ({
  host: name,
  namespace: name === '' ? '' : 'shop',
  routes,
  ...more,
});

const state = (hosts: HostRoutes[]): Delta => ({
  from: 0,
  to: 1,
  hosts: { set: hosts, remove: [] },
  upstreams: { set: [], remove: [] },
  certificates: { set: [], remove: [] },
});

const tableOf = (...hosts: HostRoutes[]): RouteTable => applyDelta(EMPTY_TABLE, state(hosts));

const request = (at: string | undefined, path = '/', more: Partial<MatchRequest> = {}): MatchRequest => ({
  host: at,
  path,
  headers: {},
  secure: false,
  ...more,
});

const upstreamOf = (table: RouteTable, asked: MatchRequest): string => {
  const found = match(table, asked);
  return found.kind === 'route' ? `${found.host.host}: ${found.action.source.name}` : found.kind;
};

describe('match by host', () => {
  const table = tableOf(
    host('a.example.com', [route('/only', 'Exact')]),
    host('*.example.com', [route('/', 'Prefix')]),
    host('b.example.com', [], { fallback: action('fallback of b') }),
    host('', [route('/all', 'Prefix')], { fallback: action('fallback of all') }),
  );

  test.each([
    ['A.example.com:80', '/only', 'a.example.com: Exact /only'],
    // An exact host hides its wildcard, also for paths without a route.
    ['a.example.com', '/', ': fallback of all'],
    ['c.example.com', '/x', '*.example.com: Prefix /'],
    ['c.d.example.com', '/x', ': fallback of all'],
    ['example.com', '/all/x', ': Prefix /all'],
    ['b.example.com', '/all', 'b.example.com: fallback of b'],
    [undefined, '/all', ': Prefix /all'],
    ['10.0.0.1', '/', ': fallback of all'],
    ['a..b', '/', 'badRequest'],
    ['a.example.com', '/x/../only', 'badRequest'],
  ])('sends %s %s to %s', (at, path, expected) =>
    expect(upstreamOf(table, request(at, path))).toBe(expected),
  );

  test('finds nothing in an empty table', () => {
    expect(match(EMPTY_TABLE, request('a.example.com'))).toEqual({ kind: 'notFound' });
  });
});

describe('rules without a host', () => {
  const of = (namespace: string, path: string): Route => {
    const { action: own, ...rest } = route(path, 'Prefix');
    return { ...rest, action: { ...own, source: { ...own.source, namespace } } };
  };
  const table = tableOf(
    host('a.example.com', [route('/only', 'Exact')]),
    host('*.example.com', []),
    host('', [of('thief', '/x'), of('shop', '/y')], { fallback: of('thief', '/').action }),
  );

  test.each([
    ['a.example.com', '/x', 'notFound'],
    ['a.example.com', '/y', ': Prefix /y'],
    ['b.example.com', '/x', 'notFound'],
    ['c.b.example.com', '/x', 'notFound'],
    ['c.b.example.com', '/y', ': Prefix /y'],
    ['example.com', '/x', ': Prefix /x'],
    ['example.org', '/', ': Prefix /'],
    [undefined, '/x', ': Prefix /x'],
  ])('answer for %s%s only if its owner has written them: %s', (at, path, expected) =>
    expect(upstreamOf(table, request(at, path))).toBe(expected),
  );

  test('are explained if they do not apply', () => {
    expect(explain(table, request('a.example.com', '/x')).steps).toContainEqual(
      expect.objectContaining({ kind: 'route', host: '', result: 'otherNamespace' }),
    );
  });
});

test('redirects plain HTTP if the host requires HTTPS', () => {
  const table = tableOf(host('a.example.com', [route('/', 'Prefix')], { redirectToHttps: true }));
  expect(match(table, request('A.example.com:80'))).toMatchObject({
    kind: 'redirect',
    name: 'a.example.com',
  });
  expect(match(table, request('a.example.com', '/', { secure: true }))).toMatchObject({ kind: 'route' });
});

test('matches headers by their joined values', () => {
  const canary = { name: 'x-canary', value: 'yes' };
  const table = tableOf(host('', [route('/a', 'Prefix', [canary]), route('/', 'Prefix')]));
  const by = (headers: MatchRequest['headers']): string => upstreamOf(table, request('x', '/a', { headers }));
  expect(by({ 'x-canary': 'yes' })).toBe(': Prefix /a');
  expect(by({ 'x-canary': ['yes'] })).toBe(': Prefix /a');
  expect(by({ 'x-canary': ['yes', 'no'] })).toBe(': Prefix /');
  expect(by({ 'x-canary': 'Yes' })).toBe(': Prefix /');
  expect(by({})).toBe(': Prefix /');
});

test('explain returns every step', () => {
  const table = tableOf(
    host('*.example.com', [route('/b', 'Exact'), route('/a', 'Prefix', [{ name: 'x', value: 'y' }])]),
    host('', [], { fallback: action('all') }),
  );
  const { match: found, steps } = explain(table, request('c.example.com', '/a?b'));
  expect(found).toMatchObject({ kind: 'route', action: { source: { name: 'all' } } });
  expect(steps).toMatchObject([
    { kind: 'request', host: 'c.example.com', path: '/a' },
    { kind: 'host', host: 'c.example.com', found: false },
    { kind: 'host', host: '*.example.com', found: true },
    { kind: 'route', host: '*.example.com', route: { path: '/b' }, result: 'otherPath' },
    { kind: 'route', host: '*.example.com', route: { path: '/a' }, result: 'otherHeaders' },
    { kind: 'fallback', host: '*.example.com', action: undefined },
    { kind: 'host', host: '', found: true },
    { kind: 'fallback', host: '', action: { source: { name: 'all' } } },
  ]);
});

/** The rules of the Ingress documentation, written for clarity and not for speed. */
function naive(hosts: HostRoutes[], name: string, path: string): string {
  const [, ...parent] = name.split('.');
  const find = (wanted: string) => hosts.find((each) => each.host === wanted);
  const own = find(name) ?? find(['*', ...parent].join('.'));
  for (const each of [own, find('')]) {
    if (each === undefined) continue;
    const exact = each.routes.find((route) => route.match === 'Exact' && route.path === path);
    const prefixes = each.routes
      .filter((route) => route.match === 'Prefix' && isPrefix(elements(route.path), path.split('/').slice(1)))
      .sort((a, b) => elements(b.path).length - elements(a.path).length);
    const found = exact?.action ?? prefixes[0]?.action ?? each.fallback;
    if (found !== undefined) return `${each.host}: ${found.source.name}`;
  }
  return 'notFound';
}

const elements = (path: string): string[] => (path === '/' ? [] : path.split('/').slice(1));
const isPrefix = (prefix: string[], path: string[]): boolean => prefix.every((each, at) => each === path[at]);

const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'aa', 'A', '%2F', ''), { maxLength: 3 })
  .map((parts) => `/${parts.join('/')}`);
const anyRoute = fc
  .tuple(anyPath, fc.constantFrom('Exact' as const, 'Prefix' as const))
  .map(([path, kind]) => route(kind === 'Prefix' ? path.replace(/\/+$/, '') || '/' : path, kind));
const anyHosts = fc.uniqueArray(
  fc
    .tuple(
      fc.constantFrom('', 'x.io', 'a.x.io', '*.x.io', '*.a.x.io'),
      fc.uniqueArray(anyRoute, { selector: ({ path, match: kind }) => `${kind} ${path}` }),
      fc.boolean(),
    )
    .map(([name, routes, hasFallback]) =>
      host(name, [...routes].sort(comparePrecedence), hasFallback ? { fallback: action('fallback') } : {}),
    ),
  { selector: (each) => each.host },
);
const anyHost = fc.constantFrom('x.io', 'a.x.io', 'b.x.io', 'b.a.x.io', 'y.io');

test('matches like the rules of the Ingress documentation', () => {
  fc.assert(
    fc.property(anyHosts, anyHost, anyPath, (hosts, name, path) => {
      expect(upstreamOf(tableOf(...hosts), request(name, path))).toBe(naive(hosts, name, path));
    }),
    { numRuns: 3000 },
  );
});
