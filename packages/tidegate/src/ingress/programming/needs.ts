/** Which capabilities the routes of a host need. Pure. */
import { isIP } from 'node:net';
import type { HostName, HostRoutes, RouteAction, Upstream } from '../model.ts';
import {
  CAPABILITIES,
  type Capability,
  type FailedHost,
  type RouterSnapshot,
} from '../provisioners/index.ts';

/** The hosts that a load balancer with these capabilities cannot serve as they are. They are left out completely. */
export function notSupported(
  { hosts, upstreams, certificates }: RouterSnapshot,
  capabilities: ReadonlySet<Capability>,
  controller: string,
): Map<HostName, FailedHost> {
  const refused = new Map<HostName, FailedHost>();
  for (const routes of hosts.values()) {
    const needed = needsOf(routes, upstreams);
    if (certificates.get(routes.host)?.certificate) needed.add('tls');
    const missing = [...needed].filter((capability) => !capabilities.has(capability));
    if (missing.length === 0) continue;
    const message = `The provisioner ${controller} does not support ${missing.map((name) => CAPABILITIES[name]).join(', ')}. Nothing of ${routes.host === '' ? 'the rules without a host' : `host ${routes.host}`} is served: change its Ingresses, or use another class.`;
    refused.set(routes.host, { reason: 'NotSupported', message });
  }
  return refused;
}

function needsOf(
  { host, routes, fallback, redirectToHttps }: HostRoutes,
  upstreams: RouterSnapshot['upstreams'],
): Set<Capability> {
  const needed = new Set<Capability>();
  const need = (capability: Capability, isNeeded: boolean): void => {
    if (isNeeded) needed.add(capability);
  };
  need('rulesWithoutHost', host === '' && (routes.length > 0 || fallback !== undefined));
  need('sslRedirect', redirectToHttps === true);
  for (const { limits, backends } of [...routes.map(({ action }) => action), ...asList(fallback)]) {
    need('connectTimeout', limits.connectTimeoutMs !== undefined);
    need('readTimeout', limits.readTimeoutMs !== undefined);
    need('maxBodySize', limits.maxBodyBytes !== undefined);
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
  need('leastConnections', upstream.balance === 'leastConnections');
  need(
    'externalNames',
    upstream.endpoints.some(({ address }) => isIP(address) === 0),
  );
}

const asList = (fallback: RouteAction | undefined): RouteAction[] =>
  fallback === undefined ? [] : [fallback];

/** The snapshot without these hosts. The same object if there are none. */
export function withoutHosts(
  snapshot: RouterSnapshot,
  refused: ReadonlyMap<HostName, FailedHost>,
): RouterSnapshot {
  if (refused.size === 0) return snapshot;
  const { hosts, certificates, changes } = snapshot;
  const without = <V>(map: ReadonlyMap<HostName, V>): Map<HostName, V> =>
    new Map([...map].filter(([host]) => !refused.has(host)));
  const removed = [...refused.keys()];
  const rest = <V extends { host: HostName }>({
    set,
    remove,
  }: {
    set: readonly V[];
    remove: readonly HostName[];
  }) => ({
    set: set.filter(({ host }) => !refused.has(host)),
    remove: [...new Set([...remove, ...removed])],
  });
  return {
    ...snapshot,
    hosts: without(hosts),
    certificates: without(certificates),
    changes: { ...changes, hosts: rest(changes.hosts), certificates: rest(changes.certificates) },
  };
}
