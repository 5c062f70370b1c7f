import type { HostName, RouteAction } from '../model.ts';
import { closedUpstream } from './backend.ts';
import type { HostClaim, Wanted } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/**
 * Another claim of the same namespace that closes the host: ingress-nginx applies some protections to all paths of a host,
 * whichever Ingress asks for them. Claims of other namespaces do not count, so that tenants cannot close hosts of others.
 */
export const closerOf = (claim: HostClaim, all: readonly HostClaim[]): HostClaim | undefined =>
  all.find(
    (other) => other.closesHost && other !== claim && other.ingress.namespace === claim.ingress.namespace,
  );

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

export const hostClosed = (host: HostName, { field }: HostClaim, closer: HostClaim): IngressProblem =>
  ingressProblem(
    'AccessControlNotSupported',
    field,
    `Ingress ${closer.ingress.key} asks for a protection of all paths of ${host === '' ? 'all hosts' : host} that Tidegate does not support. Requests get the response 503. The events of that Ingress say what to do.`,
  );
