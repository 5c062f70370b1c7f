/** How policies of the Ingresses of one host combine. Pure. */
import type { HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import {
  type ClientCertificate,
  credentialsReference,
  isGuarded,
  type RoutePolicy,
} from '../policy/index.ts';
import type { HostClaim, Wanted } from './facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import { asRegex } from './written-path.ts';

/** The claims that get routes: if any has rules for the host, claims that only have it as an alias get none. */
export function effective(served: readonly HostClaim[]): readonly HostClaim[] {
  const hasRules = ({ asks, routes, fallback }: HostClaim): boolean =>
    !asks.yields && (routes.length > 0 || fallback !== undefined);
  return served.some(hasRules) ? served.filter(({ asks }) => !asks.yields) : served;
}

/** The claim with a redirect to HTTPS on each route, if it asks for it. */
export function securedClaim(claim: HostClaim, hasTls: boolean): HostClaim {
  const { secure } = claim.asks;
  if (secure === undefined || (secure === 'withCertificate' && !hasTls)) return claim;
  // Another redirect would win.
  return withPolicy(claim, (policy) => (policy?.redirect ? policy : { ...policy, secure: true }));
}

/**
 * As in ingress-nginx, all paths of a host ask for client certificates if one Ingress of the host does. Of several, the oldest
 * applies to Ingresses without one. An Ingress with another one keeps its own: less would be needed otherwise.
 */
export function withClientCertificates(host: HostName, claims: readonly HostClaim[]): readonly HostClaim[] {
  const causes = new Map<string, ClientCertificate>();
  for (const { ingress, asks } of claims)
    if (asks.clientCertificate !== undefined && !causes.has(ingress.namespace))
      causes.set(ingress.namespace, asks.clientCertificate);
  // Rules without a host are shared by namespaces, and have no host of which they could be a part.
  if (host === '' || causes.size === 0) return claims;
  return claims.map((claim) => {
    const clientCertificate = claim.asks.clientCertificate ?? causes.get(claim.ingress.namespace);
    if (clientCertificate === undefined || claim.asks.clientCertificate !== undefined) return claim;
    return withPolicy(claim, (policy) => ({ ...policy, clientCertificate }));
  });
}

/**
 * By the key of Ingresses: a connection has the authorities of one Secret, and Ingresses of the host name several. The oldest Ingress of
 * the host is not warned.
 */
export function authorityConflicts(
  host: HostName,
  claims: readonly HostClaim[],
): ReadonlyMap<string, IngressProblem> {
  const problems = new Map<string, IngressProblem>();
  const first = new Map<string, HostClaim>();
  for (const claim of claims) {
    const { ingress, asks, field } = claim;
    if (asks.clientCertificate === undefined || asks.clientCertificate.verify === 'off') continue;
    const other = first.get(ingress.namespace);
    if (other === undefined) first.set(ingress.namespace, claim);
    const theirs = other?.asks.clientCertificate?.credentials;
    const own = asks.clientCertificate.credentials;
    if (other === undefined || theirs === undefined || theirs === own) continue;
    const message = `Ingress ${other.ingress.key} of host ${host} has client certificates of Secret ${secretOf(theirs)}, and this Ingress of Secret ${secretOf(own)}. A TLS connection has the authorities of one Secret: requests for the paths of one of these Ingresses get the response 421. Write the same auth-tls-secret in both, or use another host.`;
    problems.set(ingress.key, ingressProblem('AuthoritiesConflict', field, message));
  }
  return problems;
}

const secretOf = (credentials: string): string => credentialsReference(credentials).secret;

/** The claim with other policies on each route. */
const withPolicy = (
  claim: HostClaim,
  change: (policy: RoutePolicy | undefined) => RoutePolicy | undefined,
): HostClaim => {
  const changed = ({ policy: before, ...action }: RouteAction): RouteAction => {
    const policy = change(before);
    return policy === undefined ? action : { ...action, policy };
  };
  return {
    ...claim,
    routes: claim.routes.map((wanted) => ({
      ...wanted,
      value: { ...wanted.value, action: changed(wanted.value.action) },
    })),
    ...(claim.fallback && { fallback: mapped(claim.fallback, changed) }),
  };
};

const mapped = <T>(wanted: Wanted<T>, change: (value: T) => T): Wanted<T> => ({
  ...wanted,
  value: change(wanted.value),
});

/**
 * As in ingress-nginx, one path with a regular expression makes regular expressions of all paths of its host. Rules without a
 * host cannot have any. `warnings`: by the key of Ingresses whose paths mean
 * something else because of another Ingress.
 */
export function withRegex(
  host: HostName,
  routes: readonly Route[],
  served: readonly HostClaim[],
): { routes: readonly Route[]; warnings: ReadonlyMap<string, IngressProblem> } {
  const causes = new Map<string, HostClaim>();
  for (const claim of served) {
    const { namespace } = claim.ingress;
    if (claim.asks.regex && claim.routes.length > 0 && !causes.has(namespace)) causes.set(namespace, claim);
  }
  const warnings = new Map<string, IngressProblem>();
  if (host === '' || causes.size === 0) return { routes, warnings };
  for (const { ingress, asks, routes: own, field } of served) {
    const cause = causes.get(ingress.namespace);
    if (cause === undefined || asks.regex || own.length === 0) continue;
    const message = `Ingress ${cause.ingress.key} has use-regex or rewrite-target, so all paths of host ${host} are regular expressions, as in ingress-nginx: they ignore case, match everything that begins with them, and Exact paths match like Prefix. Use another host to avoid this.`;
    warnings.set(ingress.key, ingressProblem('PathsAreRegex', field, message));
  }
  return {
    routes: routes.flatMap((route) => (causes.has(route.action.source.namespace) ? asRegex(route) : [route])),
    warnings,
  };
}

/** Policies of the whole host: what all routes have in common, and whether paths must be read twice. */
export function withHostPolicies(routes: HostRoutes): HostRoutes {
  const actions = actionsOf(routes);
  const guarded = actions.some(({ policy }) => isGuarded(policy));
  const isSecure =
    routes.host !== '' && actions.length > 0 && actions.every(({ policy }) => policy?.secure === true);
  const whole = { ...routes, ...(guarded && { guarded: true as const }) };
  if (!isSecure) return whole;
  // A single redirect for the host costs less, and works with every provisioner that redirects.
  return {
    ...whole,
    redirectToHttps: true,
    routes: routes.routes.map((route) => ({ ...route, action: withoutSecure(route.action) })),
    ...(routes.fallback && { fallback: withoutSecure(routes.fallback) }),
  };
}

function withoutSecure({ policy, ...action }: RouteAction): RouteAction {
  const { secure: _, ...rest } = policy ?? {};
  return Object.keys(rest).length === 0 ? action : { ...action, policy: rest };
}

const actionsOf = ({ routes, fallback }: HostRoutes): RouteAction[] => [
  ...routes.map(({ action }) => action),
  ...(fallback === undefined ? [] : [fallback]),
];
