/** Random routes and requests, and what the reference matcher answers. */
import fc from 'fast-check';
import { applyDelta, comparePrecedence, EMPTY_TABLE, match } from '../../../ingress/match/index.ts';
import type { HostRoutes, Route, RouteAction, Upstream } from '../../../ingress/model.ts';
import { PUBLISHED_QUOTAS, type Routes, type WantedOptions, wantedOf } from '../plan/index.ts';
import type { Asked } from './answer.ts';

export const OPTIONS: WantedOptions = {
  health: { path: '/', intervalSeconds: 15, timeoutSeconds: 5, codes: '200-499' },
  quotas: { ...PUBLISHED_QUOTAS, rules: 1_000 },
};

export const upstream = (id: string, ...ports: number[]): Upstream => ({
  ...{ id, namespace: 'shop', service: id, protocol: 'http', balance: 'roundRobin' },
  endpoints: ports.map((port) => ({ address: '10.0.0.1', port })),
});

export const action = (to: string, namespace = 'shop'): RouteAction => ({
  backends: [{ upstream: to, weight: 1 }],
  limits: {},
  source: { kind: 'Ingress', namespace, name: 'web', rule: 0, path: 0 },
});

export const route = (
  path: string,
  to: string,
  kind: Route['match'] = 'Prefix',
  namespace = 'shop',
): Route => ({ path, match: kind, headers: [], action: action(to, namespace) });

export const host = (name: string, routes: Route[], more: Partial<HostRoutes> = {}): HostRoutes => ({
  host: name,
  namespace: name === '' ? '' : 'shop',
  routes: routes.toSorted(comparePrecedence),
  ...more,
});

export const routesOf = (hosts: readonly HostRoutes[], upstreams: readonly Upstream[]): Routes => ({
  hosts: new Map(hosts.map((each) => [each.host, each])),
  upstreams: new Map(upstreams.map((each) => [each.id, each])),
  certificates: new Map(),
});

const anyUpstream = fc.constantFrom('p0', 'p1', 'p2');
const anyNamespace = fc.constantFrom('shop', 'shop', 'rival');
const pathOf = (...parts: string[]) =>
  fc.array(fc.constantFrom(...parts), { maxLength: 3 }).map((each) => `/${each.join('/')}`);
const anyRoutePath = fc.oneof(
  { weight: 9, arbitrary: pathOf('a', 'b', 'aa', 'A', 'a.b', '~$&') },
  { weight: 1, arbitrary: pathOf('a', '*', 'a*', '(b)', '%2F') },
);
const anyRoute = (namespace: fc.Arbitrary<string>) =>
  fc
    .tuple(anyRoutePath, fc.constantFrom<Route['match']>('Exact', 'Prefix'), anyUpstream, namespace)
    .map(([path, kind, to, owner]) => route(path, to, kind, owner));

const NAMES = ['', 'x.io', 'a.x.io', '*.x.io', '*.a.x.io', '*.io', 'localhost', 'x.io9', '*.io9'];
const anyHost = fc.tuple(fc.constantFrom(...NAMES), anyNamespace).chain(([name, namespace]) =>
  fc
    .record({
      routes: fc.array(anyRoute(name === '' ? anyNamespace : fc.constant(namespace)), { maxLength: 4 }),
      fallback: fc.option(anyUpstream, { nil: undefined }),
      redirect: fc.constantFrom(false, false, true),
    })
    .map(({ routes, fallback, redirect }) =>
      host(name, routes, {
        namespace: name === '' ? '' : namespace,
        ...(fallback !== undefined && { fallback: action(fallback, namespace) }),
        ...(redirect && name !== '' && { redirectToHttps: true }),
      }),
    ),
);

export const anyRoutes: fc.Arbitrary<Routes> = fc
  .tuple(
    fc.uniqueArray(anyHost, { selector: (each) => each.host, maxLength: 5 }),
    fc.array(fc.constantFrom([], [1], [1, 2]), { minLength: 3, maxLength: 3 }),
  )
  .map(([hosts, ports]) =>
    routesOf(
      hosts,
      ports.map((each, at) => upstream(`p${at}`, ...each)),
    ),
  );

export const anyRequest: fc.Arbitrary<Asked> = fc.record({
  host: fc.constantFrom(
    ...['x.io', 'X.IO', 'a.x.io', 'b.x.io:80', 'b.a.x.io', 'c.b.a.x.io', 'd.c.b.x.io', 'y.io', 'localhost'],
    ...['x.io9', 'y.x.io9', '10.0.0.1', undefined],
  ),
  path: pathOf('a', 'b', 'aa', 'A', '', 'a.b', 'axb', '~$&', '*', '(b)', 'a?x=/b'),
  secure: fc.boolean(),
});

/**
 * The answer of the reference matcher, in the words of `actionText`. A host that was refused answers 503, and rules without a
 * host that were refused do not exist. Undefined if no rule can name the host: it may get any error.
 */
export function expected(
  routes: Routes,
  options: WantedOptions,
  { host: name, path, secure }: Asked,
): string {
  const { failed } = wantedOf(routes, options);
  const hosts = [...routes.hosts.values()].filter((each) => each.host !== '' || !failed.has(''));
  const table = applyDelta(EMPTY_TABLE, {
    ...{ from: 0, to: 1, hosts: { set: hosts, remove: [] } },
    upstreams: { set: [...routes.upstreams.values()], remove: [] },
    certificates: { set: [], remove: [] },
  });
  // Closed hosts are closed for all paths, also for those that the host has no rule for.
  const request = { host: name, path, headers: {}, secure };
  const owner = [...table.hosts.values()].find(({ host: each }) => isHostOf(each, name));
  if (owner !== undefined && failed.has(owner.host)) return '503';
  const found = match(table, request);
  if (found.kind === 'notFound') return '404';
  if (found.kind !== 'route') return found.kind;
  return `${found.action.backends[0]?.upstream}=1`;

  function isHostOf(each: string, asked = ''): boolean {
    const sent = asked.toLowerCase().replace(/:\d+$/, '');
    if (each === sent && each !== '') return true;
    return each === sent.replace(/^[^.]+/, '*') && !table.hosts.has(sent);
  }
}
