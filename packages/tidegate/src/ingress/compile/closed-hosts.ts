import type { HostName, HostRoutes, RouteAction } from '../model.ts';
import { closedUpstream } from './backend.ts';
import type { HostClaim, Wanted } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/**
 * By namespace: the first claim that closes the host. A claim of another namespace closes nothing, so that tenants cannot
 * close hosts of others.
 */
export function closersOf(claims: readonly HostClaim[]): ReadonlyMap<string, HostClaim> {
  const closers = new Map<string, HostClaim>();
  for (const claim of claims) {
    const { namespace } = claim.ingress;
    if (claim.closesHost && !closers.has(namespace)) closers.set(namespace, claim);
  }
  return closers;
}

/** The same routes. Requests get the response 503. */
export function closedClaim(claim: HostClaim): HostClaim {
  const upstream = closedUpstream(claim.ingress.namespace);
  const close = (action: RouteAction): RouteAction => ({
    ...action,
    backends: [{ upstream: upstream.id, weight: 1 }],
  });
  const closed = <T>(wanted: Wanted<T>, value: T): Wanted<T> => ({ ...wanted, value, upstream });
  return {
    ...claim,
    routes: claim.routes.map((wanted) =>
      closed(wanted, { ...wanted.value, action: close(wanted.value.action) }),
    ),
    ...(claim.fallback && { fallback: closed(claim.fallback, close(claim.fallback.value)) }),
  };
}

/**
 * What answers requests that no other route of a closed host matches. Without it, rules without a host or of the wildcard
 * above it would answer them.
 */
export function closedFallback({ ingress: { key, namespace }, field }: HostClaim): Wanted<RouteAction> {
  const upstream = closedUpstream(namespace);
  const name = key.slice(namespace.length + 1);
  return {
    value: {
      backends: [{ upstream: upstream.id, weight: 1 }],
      limits: {},
      source: { kind: 'Ingress', namespace, name, rule: -1, path: -1 },
    },
    field,
    upstream,
    backendField: field,
  };
}

/** Whether the host has nothing but the fallback above. Every router has such hosts, so they need no place on one. */
export const isOnlyClosed = ({ namespace, routes, fallback }: HostRoutes): boolean =>
  routes.length === 0 && fallback?.backends[0]?.upstream === closedUpstream(namespace).id;

export const hostClosed = (host: HostName, { field }: HostClaim, closer: HostClaim): IngressProblem =>
  ingressProblem(
    'AccessControlNotSupported',
    field,
    `Ingress ${closer.ingress.key} asks for a protection of ${host === '' ? 'rules without a host' : `host ${host}`} that Tidegate does not support. All requests for ${host === '' ? 'such rules of this namespace' : 'the host'} get the response 503. The events of that Ingress describe what to do.`,
  );
