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

describe('a host with lists', () => {
  const listed = (path: string, octet: number, kind: Route['match'] = 'Prefix'): Route => {
    const { action: own, ...rest } = route(path, kind);
    const sources = { allow: [{ octets: [octet, 0, 0, 0], bits: 8 }], deny: [] };
    return { ...rest, action: { ...own, policy: { sources } } };
  };
  const hasList = ({ action: { policy } }: Route): boolean => policy !== undefined;
  const answer = (routes: Route[], path: string): string =>
    upstreamOf(
      tableOf(
        host('a.io', [...routes].sort(comparePrecedence), routes.some(hasList) ? { guarded: true } : {}),
      ),
      request('a.io', path),
    ).replace('a.io: ', '');
  const open = route('/', 'Prefix');

  test.each([
    ['/caf%C3%A9', '/caf%c3%a9'],
    ['/caf%C3%A9', '/%63af%C3%A9/x'],
    ['/admin%20area', '//admin%20area'],
    ['/admin%20area', '/%61dmin%20area'],
    ['/~ad%6Din', '/~admin'],
    ['/a//admin', '/a///admin'],
    ['/a//admin', '/a/admin'],
    ['/a%2F', '//a'],
  ])('protects %s also if it is requested as %s', (written, path) => {
    expect(answer([open, listed(written, 10)], path)).toBe(`Prefix ${written}`);
  });

  test.each([
    ['/admin%20area', '/admin%20area;x'],
    ['/a%3Bb', '/;/a;c'],
    ['/a%5Cb', '/a;/b'],
  ])('that has %s refuses %s', (written, path) => {
    expect(answer([open, listed(written, 10)], path)).toBe('badRequest');
  });

  test.each([
    // A server removes path parameters before it decodes the path, and one of them contains a slash.
    ['/admin', '/admin;x%2Fy', 'Exact'],
    ['/admin', '/admin;x%5Cy', 'Exact'],
    ['/admin', '/admin;x\\y', 'Exact'],
    // Two servers in a row decode it, or one of them decodes it twice.
    ['/admin', '/%2561dmin', 'Prefix'],
    ['/admin', '/public/%252e%252e/admin', 'Prefix'],
    ['/admin', '/public%252Fadmin', 'Prefix', '/public/admin'],
    ['/a/b', '/a%255Cb', 'Prefix'],
    // The path of the route itself can be read in other ways.
    ['/admin;x', '/admin', 'Prefix'],
    ['/a\\b', '/a/b', 'Prefix'],
    ['/a%255Cb', '/a/b', 'Prefix'],
  ] as const)('that has %s refuses %s', (written, path, kind, also?: string) => {
    const routes = [open, listed(written, 10, kind), ...(also === undefined ? [] : [listed(also, 11)])];
    expect(answer(routes, path)).toBe('badRequest');
    expect(answer([open, route(written, kind)], path)).toBe('Prefix /');
  });

  test('never serves openly what some server reads as the path with the list', () => {
    const changes: readonly ((path: string) => string)[] = [
      decodeURIComponent,
      (path) =>
        path
          .split('/')
          .map((segment) => segment.split(';')[0])
          .join('/'),
      (path) =>
        path
          .split(/([/\\])/)
          .map((segment) => segment.split(';')[0])
          .join(''),
      (path) => path.split('\\').join('/'),
      (path) => path.split('//').join('/'),
      (path) => (path.startsWith('/') ? new URL(path, 'http://a').pathname : path),
    ];
    const server = fc.array(fc.constantFrom(...changes), { maxLength: 5 });
    const parts = fc.constantFrom(
      '/',
      '//',
      'a',
      '%61',
      '%2561',
      ';',
      ';x',
      '\\',
      '%5C',
      '%2F',
      '%3B',
      '.',
      '%2E',
      'b',
    );
    const paths = fc.array(parts, { maxLength: 8 }).map((each) => `/${each.join('')}`);
    const read = (path: string, by: typeof changes): string | undefined => {
      try {
        return by.reduce((result, change) => change(result), path);
      } catch {
        // The server refuses it.
        return undefined;
      }
    };
    fc.assert(
      fc.property(paths, server, fc.constantFrom('Prefix' as const, 'Exact' as const), (path, by, kind) => {
        const found = read(path, by);
        const isProtected = found === '/a' || (kind === 'Prefix' && found?.startsWith('/a/') === true);
        if (isProtected) expect(answer([open, listed('/a', 10, kind)], path)).not.toBe('Prefix /');
      }),
      { numRuns: 20_000 },
    );
  });

  test.each([
    '/ADMIN',
    '/Admin/x',
    '/admin.',
    '/admin../x',
    '/admin%20',
    '/admin%2e',
    '/admin%09/x',
    '/admin%c2%a0',
    '/admin%85',
    '/admin::$DATA',
    '/admin:$i30:$INDEX_ALLOCATION/x',
    '/admin%3a%3a$DATA',
    '/%20/admin',
    '/%41DMIN',
  ])('applies the list of /admin also to %s, unless a route has this spelling', (path) => {
    expect(answer([open, listed('/admin', 10)], path)).toBe('Prefix /admin');
    expect(answer([listed('/', 11), listed('/admin', 10)], path)).toBe('badRequest');
    expect(answer([open, route('/admin', 'Prefix')], path)).toBe('Prefix /');
    expect(answer([open, listed('/admin', 10), route(path, 'Exact')], path)).toBe(`Exact ${path}`);
  });

  test('applies the list of a path in upper case also to lower case', () => {
    expect(answer([open, listed('/Admin', 10)], '/admin/x')).toBe('Prefix /Admin');
    expect(answer([open, listed('/Admin', 10), route('/admin', 'Prefix')], '/admin/x')).toBe('Prefix /admin');
    expect(answer([open, listed('/a', 10), route('/A/b', 'Prefix')], '/A/b/c')).toBe('Prefix /A/b');
    expect(answer([open, listed('/a', 10), route('/A/b', 'Prefix')], '/A/c')).toBe('Prefix /a');
  });

  test.each(['/public/..%20/admin', '/public/.%20./x', '/.../admin', '/x/..%c2%a0/admin'])(
    'refuses %s, in which a segment may mean the directory above',
    (path) => {
      expect(answer([open, listed('/admin', 10)], path)).toBe('badRequest');
      expect(answer([open], path)).toBe('Prefix /');
    },
  );

  test.each(['/admins', '/adm%20in', '/.admin', '/users:batch', '/admin:x'])('leaves %s open', (path) => {
    expect(answer([open, listed('/admin', 10), listed('/users', 10)], path)).toBe('Prefix /');
  });

  test('refuses a long path that can be read in several ways', () => {
    const path = `/${'a'.repeat(8_000)}%25%35%63;a;b%5c`;
    expect(answer([open, listed('/admin', 10)], path)).toBe('badRequest');
    expect(answer([open, listed('/admin', 10)], `/${'a'.repeat(8_000)}%20`)).toBe('Prefix /');
  });

  test('refuses a path that can be read in too many ways', () => {
    const path = `/${Array.from({ length: 12 }, (_, at) => `%${'25'.repeat(at)}5C;a`).join('/')}`;
    expect(answer([open, listed('/admin', 10)], path)).toBe('badRequest');
    expect(answer([open], path)).toBe('Prefix /');
  });

  test('prefers the longest path as backends read it', () => {
    const routes = [open, listed('/api/admin', 10), route('/%61%70%69%2F', 'Prefix')];
    expect(answer(routes, '//api/admin')).toBe('Prefix /api/admin');
    expect(answer(routes, '//api/x')).toBe('Prefix /');
  });

  test('prefers the list of two paths that backends read as the same', () => {
    expect(answer([listed('/%61', 10), route('/a', 'Prefix')], '/a')).toBe('Prefix /%61');
    // The Exact path is open, as its author has written it.
    expect(answer([listed('/a', 10), route('/a', 'Exact'), open], '//a')).toBe('Prefix /');
    expect(answer([listed('/a', 10), route('/a', 'Exact')], '/a')).toBe('Exact /a');
  });

  test.each(['/%61pi/admin;x', '/%61pi/;/admin', '//api/;/admin', '/%61pi%5cadmin', '/api/admin;x'])(
    'refuses %s, which backends may read as the path of another list',
    (path) => {
      const routes = [open, listed('/api', 10), listed('/api/admin', 11)];
      expect(answer(routes, path)).toBe('badRequest');
    },
  );

  test('refuses a path with different lists before and after decoding', () => {
    expect(answer([listed('/api', 10), listed('/api/admin', 11)], '/api/%61dmin')).toBe('badRequest');
    expect(answer([listed('/api', 10), listed('/api/admin', 10)], '/api//admin')).toBe('Prefix /api');
  });

  test('serves other paths', () => {
    const routes = [open, listed('/admin%20area', 10), route('/admin%20area/public', 'Prefix')];
    for (const path of ['/', '/admin', '/a;b', '/x//y', '/%41'])
      expect({ path, answer: answer(routes, path) }).toEqual({ path, answer: 'Prefix /' });
    expect(answer(routes, '/admin%20area/public/x')).toBe('Prefix /admin%20area/public');
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
