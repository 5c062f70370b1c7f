/** Which capabilities the routes of a host need. Pure. */
import { isIP } from 'node:net';
import type { HostName, HostRoutes, RouteAction, Upstream } from '../model.ts';
import { CAPABILITIES, type Capability } from './capabilities.ts';
import type { FailedHost } from './contract.ts';
import type { RouterSnapshot } from './snapshot.ts';

/** The hosts that a load balancer with these capabilities cannot serve as they are. All their requests get 503. */
export function notSupported(
  { hosts, upstreams, certificates }: Pick<RouterSnapshot, 'hosts' | 'upstreams' | 'certificates'>,
  capabilities: ReadonlySet<Capability>,
  controller: string,
): Map<HostName, FailedHost> {
  const refused = new Map<HostName, FailedHost>();
  for (const routes of hosts.values()) {
    const hasCertificate = Boolean(certificates.get(routes.host)?.certificate);
    const found = notSupportedHost(routes, upstreams, hasCertificate, capabilities, controller);
    if (found !== undefined) refused.set(routes.host, found);
  }
  return refused;
}

/** Why a load balancer with these capabilities cannot serve the host. */
export function notSupportedHost(
  routes: HostRoutes,
  upstreams: RouterSnapshot['upstreams'],
  hasCertificate: boolean,
  capabilities: ReadonlySet<Capability>,
  controller: string,
): FailedHost | undefined {
  const needed = needsOf(routes, upstreams);
  if (hasCertificate) needed.add('tls');
  const missing = [...needed].filter((capability) => !capabilities.has(capability));
  if (missing.length === 0) return undefined;
  const message = `The provisioner ${controller} does not support ${missing.map((name) => CAPABILITIES[name]).join(', ')}. Nothing of ${routes.host === '' ? 'the rules without a host' : `host ${routes.host}`} is served: change its Ingresses, or use another class.`;
  return { reason: 'NotSupported', message };
}

function needsOf(
  { host, routes, fallback, redirectToHttps, appRoot, handshake }: HostRoutes,
  upstreams: RouterSnapshot['upstreams'],
): Set<Capability> {
  const needed = new Set<Capability>();
  const need = (capability: Capability, isNeeded: boolean): void => {
    if (isNeeded) needed.add(capability);
  };
  need('rulesWithoutHost', host === '' && (routes.length > 0 || fallback !== undefined));
  need('sslRedirect', redirectToHttps === true);
  need('redirects', appRoot !== undefined);
  need('ciphers', handshake !== undefined);
  need(
    'regexPaths',
    routes.some(({ match }) => match === 'Regex'),
  );
  for (const { limits, backends, policy = {} } of [
    ...routes.map(({ action }) => action),
    ...asList(fallback),
  ]) {
    need('connectTimeout', limits.connectTimeoutMs !== undefined);
    need('readTimeout', limits.readTimeoutMs !== undefined);
    need('sendTimeout', limits.sendTimeoutMs !== undefined);
    need('retries', limits.retry !== undefined);
    need('maxBodySize', limits.maxBodyBytes !== undefined);
    need('sourceRanges', policy.sources !== undefined);
    need('basicAuth', policy.basic !== undefined);
    need('clientCertificates', policy.clientCertificate !== undefined);
    need('externalAuth', policy.externalAuth !== undefined);
    need('rateLimits', policy.limit !== undefined);
    need('throttles', policy.throttle !== undefined);
    need('affinity', policy.affinity !== undefined);
    need('hashing', policy.hashBy !== undefined);
    need('cors', policy.cors !== undefined);
    need('redirects', policy.redirect !== undefined || policy.secure !== undefined);
    need('rewrites', policy.rewrite !== undefined || policy.vhost !== undefined);
    need('customHeaders', policy.customHeaders !== undefined);
    need('errors', policy.errors !== undefined);
    need('mirrors', policy.mirror !== undefined);
    need('responseHeaders', policy.responses !== undefined);
    need(
      'canaries',
      backends.some(({ canary }) => canary !== undefined),
    );
    for (const { upstream } of backends) addUpstreamNeeds(upstreams.get(upstream), need);
  }
  return needed;
}

function addUpstreamNeeds(
  upstream: Upstream | undefined,
  need: (capability: Capability, isNeeded: boolean) => void,
): void {
  if (upstream === undefined) return;
  need('backendHttps', upstream.protocol === 'https');
  need('backendGrpc', upstream.protocol === 'grpc');
  need('backendTls', upstream.tls !== undefined);
  need('serviceAddresses', upstream.usesAddress === true);
  need('ewma', upstream.balance === 'ewma');
  need('leastConnections', upstream.balance === 'leastConnections');
  need(
    'externalNames',
    upstream.endpoints.some(({ address }) => isIP(address) === 0),
  );
}

const asList = (fallback: RouteAction | undefined): RouteAction[] =>
  fallback === undefined ? [] : [fallback];

/**
 * The snapshot with these hosts closed: they answer 503. Without an entry of their own, a wildcard above them or the rules
 * without a host would answer their requests. The same object if there are none.
 */
export function withClosedHosts(
  snapshot: RouterSnapshot,
  refused: ReadonlyMap<HostName, FailedHost>,
): RouterSnapshot {
  if (refused.size === 0) return snapshot;
  const { hosts, upstreams, certificates, changes } = snapshot;
  const closed = [...hosts.values()].filter(({ host }) => host !== '' && refused.has(host)).map(closedHost);
  const backends = closed.map(({ namespace }) => closedUpstream(namespace));
  const isServed = ({ host }: { host: HostName }): boolean => !refused.has(host);
  const served = <V extends { host: HostName }>(values: Iterable<V>): V[] => [...values].filter(isServed);
  const byHost = <V extends { host: HostName }>(values: readonly V[]): Map<HostName, V> =>
    new Map(values.map((value) => [value.host, value]));
  const gone = (names: readonly HostName[], ...more: HostName[]): HostName[] => [
    ...new Set([...names, ...more]),
  ];
  return {
    ...snapshot,
    hosts: byHost([...served(hosts.values()), ...closed]),
    upstreams: new Map([...upstreams, ...backends.map((each) => [each.id, each] as const)]),
    certificates: byHost(served(certificates.values())),
    changes: {
      ...changes,
      hosts: {
        set: [...served(changes.hosts.set), ...closed],
        remove: gone(changes.hosts.remove, ...(refused.has('') ? [''] : [])),
      },
      upstreams: { ...changes.upstreams, set: [...changes.upstreams.set, ...backends] },
      certificates: {
        set: served(changes.certificates.set),
        remove: gone(changes.certificates.remove, ...refused.keys()),
      },
    },
  };
}

function closedHost({ host, namespace, routes, fallback }: HostRoutes): HostRoutes {
  const source = (routes[0]?.action ?? fallback)?.source ?? {
    ...{ kind: 'Ingress' as const, namespace, name: '', rule: -1, path: -1 },
  };
  const backends = [{ upstream: closedUpstream(namespace).id, weight: 1 }];
  return { host, namespace, routes: [], fallback: { backends, limits: {}, source } };
}

const closedUpstream = (namespace: string): Upstream => ({
  id: `${namespace}__closed`,
  namespace,
  service: '',
  protocol: 'http',
  balance: 'roundRobin',
  endpoints: [],
  problem: 'closed',
});
