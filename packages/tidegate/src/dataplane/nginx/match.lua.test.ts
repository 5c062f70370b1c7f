import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDelta, EMPTY_TABLE, match, type RouteTable, requestPath } from '../../ingress/match/index.ts';
import { comparePrecedence } from '../../ingress/match/path.ts';
import type { HostRoutes, Route } from '../../ingress/model.ts';
import { compilePattern } from '../../ingress/regex/index.ts';
import { hostText } from './host-text.ts';
import { runLua } from './testing/run-lua.ts';

/** For each request, the rule that matches or the status. */
const SCRIPT = `
  require "tidegate.settings".access_log = true
  local match, request = require "tidegate.match", require "tidegate.request"
  local hosts = ngx.shared.tidegate_hosts
  for _, host in ipairs(input.hosts) do
    hosts:set(host.key, host.text)
  end
  local host_of = require "tidegate.tables".host
  local result = {}
  for i, each in ipairs(input.requests) do
    local route, status, host = match.match(request.host(each.host), each.path, each.secure, function(name)
      return each.headers[name]
    end, host_of, 1)
    result[i] = route and host.ingresses[route.number] or status
  end
  return result`;

const PATHS = [
  ...['/', '/a', '/a/b', '/ab', '/a/b/c', '/%61', '/a//b', '/a%2f', '/a;x', '/%E9'],
  ...['/a;x/b', '/a\\b', '/a%5cb', '/a%3bx', '/%2561', '/a;x%2fb'],
  ...['/A', '/A/b', '/a.', '/a%20/B'],
];

let made = 0;
const namespace = fc.constantFrom('n', 'm');
const route = fc
  .record({
    path: fc.constantFrom(...PATHS),
    allowed: fc.constantFrom(undefined, undefined, 10, 11),
    match: fc.constantFrom<Route['match']>('Exact', 'Prefix', 'Regex'),
    headers: fc.subarray([
      { name: 'x', value: '1' },
      { name: 'y', value: '2' },
    ]),
  })
  .chain(({ allowed, ...parts }) =>
    namespace.map((each): Route => {
      const isRegex = parts.match === 'Regex';
      const pattern = isRegex
        ? { pattern: compilePattern(parts.path.replace('\\', '.'), undefined, '^') }
        : {};
      return { ...parts, ...pattern, action: { ...newAction(each), ...listOf(allowed) } };
    }),
  );
const listOf = (octet: number | undefined) =>
  octet !== undefined && {
    policy: { sources: { allow: [{ octets: [octet, 0, 0, 0], bits: 8 }], deny: [] } },
  };
const newAction = (of: string) => ({
  backends: [{ upstream: 'p', weight: 1 }],
  limits: {},
  source: { kind: 'Ingress' as const, namespace: of, name: `rule ${made++}`, rule: 0, path: 0 },
});
const host = fc
  .record({
    host: fc.constantFrom('', 'a.io', '*.io', 'b.a.io', '*.a.io'),
    routes: fc.array(route, { maxLength: 5 }).map((routes) => routes.sort(comparePrecedence)),
    namespace,
    fallbackOf: fc.option(namespace, { nil: undefined }),
    redirectToHttps: fc.boolean(),
  })
  .map(
    ({ fallbackOf, ...parts }): HostRoutes => ({
      ...parts,
      ...(parts.routes.some(({ action }) => action.policy !== undefined) && { guarded: true as const }),
      ...(fallbackOf !== undefined && { fallback: newAction(fallbackOf) }),
    }),
  );
const request = fc.record({
  host: fc.constantFrom('', 'a.io', 'b.io', 'b.a.io', 'c.a.io', 'c.b.a.io', '[::1]', 'io'),
  path: fc.oneof(
    fc.constantFrom(
      ...PATHS,
      '/a/',
      '/a/b/x',
      '/abc',
      '/A',
      '//a',
      '/;/a',
      '/%e9',
      '//%61;y/b',
      '/%252e%252e/a',
    ),
    fc
      .array(
        fc.constantFrom(
          '/',
          'a',
          'b',
          '%61',
          ';',
          ';x',
          '\\',
          '%5c',
          '%2f',
          '%3b',
          '%25',
          '25',
          '61',
          '5c',
          'A',
          '.',
          '%20',
          '%c2%a0',
          '::$DATA',
        ),
        {
          maxLength: 8,
        },
      )
      .map((parts) => `/${parts.join('')}`)
      .filter((path) => requestPath(path) === path),
  ),
  secure: fc.boolean(),
  headers: fc.record({ x: fc.constantFrom('1', '2'), y: fc.constantFrom('2', '3') }, { requiredKeys: [] }),
});

describe('match.lua', () => {
  it('agrees with the reference', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const hosts = fc.sample(host, { seed, numRuns: 6 });
      const requests = fc.sample(request, { seed, numRuns: 400 });
      const table = tableOf(hosts);
      const got = await runLua(SCRIPT, {
        hosts: [...table.hosts.entries()].map(([key, value]) => ({ key: key || '*', text: hostText(value) })),
        requests,
      });
      expect(got).toEqual(requests.map((each) => expected(table, each)));
    }
  });
});

it('does not run the patterns of other namespaces', async () => {
  // More steps than a request has.
  const pattern = compilePattern(`/(${'(a|a?)'.repeat(60)})*x`, undefined, '^');
  const path = `/${'a'.repeat(4000)}`;
  const of = (namespace: string, more: Partial<Route>): Route => ({
    path: '/',
    match: 'Prefix',
    headers: [],
    action: newAction(namespace),
    ...more,
  });
  const routes = [of('m', { path: '/slow', match: 'Regex', pattern }), of('n', {})];
  const table = tableOf([
    { host: 'a.io', namespace: 'n', routes: [] },
    { host: 'b.io', namespace: 'm', routes: [] },
    { host: '', namespace: '', routes },
  ]);
  const requests = ['a.io', 'b.io'].map((each) => ({ host: each, path, secure: false, headers: {} }));
  const got = await runLua(SCRIPT, {
    hosts: [...table.hosts.entries()].map(([key, value]) => ({ key: key || '*', text: hostText(value) })),
    requests,
  });
  expect(requests.map((each) => expected(table, each))).toEqual([`n/${routes[1]!.action.source.name}`, 503]);
  expect(got).toEqual([`n/${routes[1]!.action.source.name}`, 503]);
});

const tableOf = (hosts: HostRoutes[]): RouteTable => {
  const none = { set: [], remove: [] };
  return applyDelta(EMPTY_TABLE, {
    from: 0,
    to: 1,
    hosts: { set: hosts, remove: [] },
    upstreams: none,
    certificates: none,
  });
};

function expected(table: RouteTable, asked: Parameters<typeof match>[1]): string | number {
  const found = match(table, asked);
  if (found.kind === 'route') {
    const { namespace, name } = found.action.source;
    return `${namespace}/${name}`;
  }
  return { redirect: 308, appRoot: 302, notFound: 404, tooManySteps: 503, badRequest: 400 }[found.kind];
}
