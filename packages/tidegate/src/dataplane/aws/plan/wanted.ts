import { wildcardsAbove } from '../../../ingress/match/index.ts';
import type { HostName, HostRoutes } from '../../../ingress/model.ts';
import type { FailedHost, RouterSnapshot } from '../../../ingress/provisioners/index.ts';
import { usableCertificates } from '../../certificates-by-name.ts';
import { certificateNames } from './certificates.ts';
import { hostRefusal, noRoom, routeRefusal } from './refusals.ts';
import type { HealthCheck, ListenerName, Quotas, Wanted, WantedListener } from './state.ts';
import { restOf, Translation } from './translation.ts';

export type Routes = Pick<RouterSnapshot, 'hosts' | 'upstreams' | 'certificates'>;

/** Settings of a load balancer that do not come from Ingresses. */
export interface WantedOptions {
  readonly health: HealthCheck;
  readonly quotas: Quotas;
}

/** Translates the routes of a router. `failed` has the hosts that an ALB cannot serve as the routes say. */
export function wantedOf(
  routes: Routes,
  { health, quotas }: WantedOptions,
): { wanted: Wanted; failed: Map<HostName, FailedHost> } {
  const usable = usableCertificates(routes, 'An Application Load Balancer');
  const failed = refusedHosts(routes, health);
  // Hosts with problems of their certificates are served, so they must not be closed.
  const finished = (wanted: Wanted) => ({ wanted, failed: new Map([...usable.problems, ...failed]) });
  const last = [...routes.hosts.keys()].sort();
  for (;;) {
    const wanted = translated(routes, usable, failed, health);
    const exceeded = exceededBy(wanted, quotas);
    if (exceeded === undefined) return finished(wanted);
    const host = last.findLast((each) => !failed.has(each));
    if (host === undefined) return finished(closedEntirely(wanted));
    failed.set(host, noRoom(exceeded, quotas));
  }
}

function refusedHosts(routes: Routes, health: HealthCheck): Map<HostName, FailedHost> {
  const failed = new Map<HostName, FailedHost>();
  for (const entry of routes.hosts.values()) {
    const refusal = refusalOf(entry, routes, health);
    if (refusal !== undefined) failed.set(entry.host, refusal);
  }
  for (const { host } of routes.hosts.values()) {
    if (hostRefusal(restOf(host)) === undefined) continue;
    // Rules for more hosts would answer in place of this one, because no rule can keep its requests from them.
    for (const above of [...wildcardsAbove(host), ''])
      if (routes.hosts.has(above) && !failed.has(above)) failed.set(above, wouldCover(above, host));
  }
  return failed;
}

const wouldCover = (above: HostName, host: HostName): FailedHost => ({
  reason: 'HostNotSupported',
  message: `${above === '' ? 'The rules without a host' : `The rules of ${above}`} would also answer for the host ${host}, which no rule of an Application Load Balancer can name. They are not served. Remove the host ${host}, or use another class for it.`,
});

function refusalOf(
  { host, routes, fallback }: HostRoutes,
  { upstreams }: Routes,
  health: HealthCheck,
): FailedHost | undefined {
  const refusal =
    hostRefusal(restOf(host)) ?? (host.startsWith('*.') ? hostRefusal(restOf(`*${host}`)) : undefined);
  if (refusal !== undefined) return refusal;
  for (const route of routes) {
    const match = route.match === 'Exact' ? 'Exact' : 'Prefix';
    const key = { section: 'own' as const, host, path: route.path, match } as const;
    const found = routeRefusal(key, route.action, route, upstreams, health);
    if (found !== undefined) return found;
  }
  return fallback && routeRefusal(restOf(host), fallback, {}, upstreams, health);
}

function translated(
  routes: Routes,
  usable: ReturnType<typeof usableCertificates>,
  failed: ReadonlyMap<HostName, FailedHost>,
  health: HealthCheck,
): Wanted {
  const translation = new Translation(
    routes,
    health,
    (host, listener) => failed.has(host) || (listener === 'https' && usable.closed.has(host)),
  );
  const served = new Map([...usable.certificates].filter(([host]) => host === '' || !failed.has(host)));
  const isSecure =
    [...usable.certificates.values()].some(({ certificate }) => certificate !== '') ||
    [...routes.hosts.values()].some(({ redirectToHttps }) => redirectToHttps === true);
  const listeners = new Map<ListenerName, WantedListener>([
    ['http', { fallback: 404, rules: translation.rules('http') }],
  ]);
  const certificates = certificateNames(served);
  if (isSecure) listeners.set('https', { fallback: 404, certificates, rules: translation.rules('https') });
  return {
    groups: translation.groups,
    listeners,
    certificates: new Set(isSecure ? [certificates.default, ...certificates.sni] : []),
  };
}

/** The first quota that does not suffice. */
function exceededBy({ groups, listeners }: Wanted, quotas: Quotas): keyof Quotas | undefined {
  const sum = (counts: Iterable<number>): number => [...counts].reduce((a, b) => a + b, 0);
  const used: Quotas = {
    rules: sum([...listeners.values()].map(({ rules }) => rules.length)),
    certificates: sum([...listeners.values()].map(({ certificates }) => certificates?.sni.length ?? 0)),
    groups: groups.size,
    targets: sum([...groups.values()].map(({ targets }) => targets.length)),
  };
  return (['rules', 'certificates', 'groups', 'targets'] as const).find((each) => used[each] > quotas[each]);
}

/** Not even the rules that close hosts fit. Without them, rules of other hosts would answer. */
const closedEntirely = ({ listeners }: Wanted): Wanted => ({
  groups: new Map(),
  listeners: new Map(
    [...listeners].map(([name, listener]) => [name, { ...listener, fallback: 503, rules: [] }]),
  ),
  certificates: new Set(
    [...listeners.values()].flatMap(({ certificates }) =>
      certificates === undefined ? [] : [certificates.default, ...certificates.sni],
    ),
  ),
});
