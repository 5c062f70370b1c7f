import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDelta, EMPTY_TABLE, match, type RouteTable } from '../../ingress/match/index.ts';
import { comparePrecedence } from '../../ingress/match/path.ts';
import type { HostRoutes, Route } from '../../ingress/model.ts';
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

let made = 0;
const namespace = fc.constantFrom('n', 'm');
const route = fc
  .record({
    path: fc.constantFrom('/', '/a', '/a/b', '/ab', '/a/b/c'),
    match: fc.constantFrom<Route['match']>('Exact', 'Prefix'),
    headers: fc.subarray([
      { name: 'x', value: '1' },
      { name: 'y', value: '2' },
    ]),
  })
  .chain((parts) => namespace.map((each): Route => ({ ...parts, action: newAction(each) })));
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
      ...(fallbackOf !== undefined && { fallback: newAction(fallbackOf) }),
    }),
  );
const request = fc.record({
  host: fc.constantFrom('', 'a.io', 'b.io', 'b.a.io', 'c.a.io', 'c.b.a.io', '[::1]', 'io'),
  path: fc.constantFrom('/', '/a', '/a/', '/a/b', '/a/b/x', '/abc', '/A', '//a'),
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
  return { redirect: 308, notFound: 404, badRequest: 400 }[found.kind];
}
