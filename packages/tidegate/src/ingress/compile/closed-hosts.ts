import type { HostName, HostRoutes, RouteAction } from '../model.ts';
import { closedUpstream } from './backend.ts';
import type { HostClaim, Wanted } from './facts.ts';
import { compareAge } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/**
 * By namespace: the oldest claim that closes the host, whatever the order in which Ingresses were received. A claim of another namespace closes nothing, so that tenants cannot
 * close hosts of others.
 */
export function closersOf(claims: readonly HostClaim[]): ReadonlyMap<string, HostClaim> {
  const closers = new Map<string, HostClaim>();
  const closing = claims.filter(({ closesHost }) => closesHost);
  for (const claim of closing.sort((a, b) => compareAge(a.ingress, b.ingress))) {
    const { namespace } = claim.ingress;
    if (!closers.has(namespace)) closers.set(namespace, claim);
  }
  return closers;
}

/** The same routes. Requests get the response 503. */
export function closedClaim(claim: HostClaim): HostClaim {
  const upstream = closedUpstream(claim.ingress.namespace);
  const close = ({ policy: _, ...action }: RouteAction): RouteAction => ({
    ...action,
    backends: [{ upstream: upstream.id, weight: 1 }],
  });
  const closed = <T>({ others: _, ...wanted }: Wanted<T>, value: T): Wanted<T> => ({
    ...wanted,
    value,
    upstream,
  });
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
  routes.length === 0 &&
  fallback?.policy === undefined &&
  fallback?.backends[0]?.upstream === closedUpstream(namespace).id;

export const hostClosed = (host: HostName, { field }: HostClaim, closer: HostClaim): IngressProblem =>
  ingressProblem(
    'AccessControlNotSupported',
    field,
    `Ingress ${closer.ingress.key} asks for a protection of ${host === '' ? 'rules without a host' : `host ${host}`} that Tidegate does not support. All requests for ${host === '' ? 'such rules of this namespace' : 'the host'} get the response 503. The events of that Ingress describe what to do.`,
  );

/** Like hostClosed, for a claim that limits access, of which a path or the default backend is not served. */
export const listNotServed = (host: HostName, { field }: HostClaim, closer: HostClaim): IngressProblem =>
  ingressProblem(
    'AccessControlNotSupported',
    field,
    `Ingress ${closer.ingress.key} limits the access to ${host === '' ? 'rules without a host' : `host ${host}`}, and paths of it are not served: its events describe why. Without this limit they would be open, so all requests for ${host === '' ? 'such rules of this namespace' : 'the host'} get the response 503. Remove the other Ingress of these paths, or use fewer paths.`,
  );

/** Why an alias with a guard closes the host: rules of `used` name the host, and an alias gives way to them. */
export function aliasNotServed(
  host: HostName,
  { field }: HostClaim,
  used: readonly HostClaim[],
): IngressProblem {
  const others = used.map(({ ingress }) => ingress.key);
  return ingressProblem(
    'AccessControlNotSupported',
    field,
    `The alias ${host} is not served, because ${others[0]} has rules for this host. The limits on access of this Ingress would not apply to the paths that the alias shares, so all requests for the host get the response 503. Remove the alias, or give the same annotations to the Ingresses of the host.`,
  );
}
