/** Random routes and requests, and what the reference matcher answers. */
import fc from 'fast-check';
import { applyDelta, comparePrecedence, EMPTY_TABLE, match } from '../../../ingress/match/index.ts';
import type { HostRoutes, Route, RouteAction, Upstream } from '../../../ingress/model.ts';
import { NOT_FOUND_BACKEND, type Routes, type WantedOptions } from '../plan/index.ts';
import type { Asked } from './answer.ts';

const SETTINGS = { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, allowedCidrs: [] };
export const OPTIONS: WantedOptions = {
  http: { ...SETTINGS, port: 80 },
  https: { ...SETTINGS, port: 443 },
  hasStore: true,
  certificatePrefix: 'tidegate_cluster_gold_',
};

export const upstream = (id: string, ...ports: number[]): Upstream => ({
  id,
  namespace: 'shop',
  service: id,
  protocol: 'http',
  balance: 'roundRobin',
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
): Route => ({
  path,
  match: kind,
  headers: [],
  action: action(to, namespace),
});

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
const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'aa', 'A', '', 'a.b', '(.*)', '"{};$&<', '%2F'), { maxLength: 3 })
  .map((parts) => `/${parts.join('/')}`);
const anyRoute = fc
  .record({
    path: anyPath,
    kind: fc.constantFrom<Route['match']>('Exact', 'Prefix'),
    to: anyUpstream,
    namespace: anyNamespace,
  })
  .map(({ path, kind, to, namespace }) =>
    route(kind === 'Prefix' ? path.replace(/\/+$/, '') || '/' : path, to, kind, namespace),
  );
const HOSTS = ['', 'x.io', 'a.x.io', '*.x.io', '*.a.x.io', '*.io'] as const;

const anyHost = fc
  .record({
    name: fc.constantFrom(...HOSTS),
    namespace: anyNamespace,
    routes: fc.array(anyRoute, { maxLength: 4 }),
    fallback: fc.option(anyUpstream, { nil: undefined, freq: 1 }),
    redirect: fc.constantFrom(false, false, true),
  })
  .map(({ name, namespace, routes, fallback, redirect }) =>
    host(
      name,
      name === '' ? routes : routes.map((each) => ({ ...each, action: ownedBy(each.action, namespace) })),
      {
        namespace: name === '' ? '' : namespace,
        ...(fallback !== undefined && { fallback: action(fallback, namespace) }),
        ...(redirect && name !== '' && { redirectToHttps: true }),
      },
    ),
  );

const ownedBy = (of: RouteAction, namespace: string): RouteAction => ({
  ...of,
  source: { ...of.source, namespace },
});

export const anyRoutes: fc.Arbitrary<Routes> = fc
  .record({
    hosts: fc.uniqueArray(anyHost, { selector: (each) => each.host, maxLength: 5 }),
    ports: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
  })
  .map(({ hosts, ports }) =>
    routesOf(
      hosts,
      ports.map((port, at) => upstream(`p${at}`, port)),
    ),
  );

export const anyRequest: fc.Arbitrary<Asked> = fc.record({
  host: fc.constantFrom(
    'x.io',
    'X.IO',
    'a.x.io',
    'b.x.io:80',
    'b.a.x.io.',
    'c.b.a.x.io',
    'y.io',
    '10.0.0.1',
    '[::1]:80',
    undefined,
  ),
  path: anyPath,
  secure: fc.boolean(),
});

/** The answer of the reference matcher, in the words of `answerOf`. */
export function expected(routes: Routes, { host: name, path, secure }: Asked): string {
  const changes = <K, V>(map: ReadonlyMap<K, V>) => ({ set: [...map.values()], remove: [] });
  const table = applyDelta(EMPTY_TABLE, {
    from: 0,
    to: 1,
    hosts: changes(routes.hosts),
    upstreams: changes(routes.upstreams),
    certificates: changes(routes.certificates),
  });
  const found = match(table, { host: name, path, headers: {}, secure });
  if (found.kind === 'notFound') return `${NOT_FOUND_BACKEND} (empty)`;
  // Octavia cannot redirect the hosts of a wildcard: they answer 503.
  if (found.kind === 'redirect')
    return found.host.host.startsWith('*.')
      ? `${found.host.namespace}__closed (empty)`
      : `redirect https://${found.name}`;
  if (found.kind === 'badRequest') return 'bad request';
  if (found.kind === 'tooManySteps') return 'too many steps';
  if (found.kind === 'appRoot') return `redirect ${found.path}`;
  const id = found.action.backends[0]?.upstream ?? '';
  return routes.upstreams.get(id)?.endpoints.length === 0 ? `${id} (empty)` : id;
}
