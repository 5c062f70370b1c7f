import { comparePrecedence } from '../match/index.ts';
import type { HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import { hostConflict } from '../ownership/index.ts';
import { closedClaim, closedFallback, closersOf, hostClosed } from './closed-hosts.ts';
import type { ClaimsTo, HostOwners } from './host-owners.ts';
import type { HostClaim, Wanted } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** The routes of one host, and the share of each Ingress that claims it. */
export interface CompiledHost {
  /** Undefined if the host has neither routes nor an owner. */
  readonly routes: HostRoutes | undefined;
  /** By key of the Ingress. */
  readonly shares: ReadonlyMap<string, Share>;
}

/** What one Ingress got of a host. */
export interface Share {
  /** The routes and default backends that are served. */
  readonly served: readonly Wanted<unknown>[];
  /** Conflicts with other Ingresses, or a missing claim. */
  readonly problems: readonly IngressProblem[];
}

/**
 * Compiles the claims on one host. Only claims of the owning namespace count, so that a tenant cannot take over a path
 * of a host of another tenant. For the empty name, claims of all namespaces that may use it count. An owned host without
 * routes is a result too: it keeps rules without a host of other namespaces from being used for it.
 */
export function compileHost(host: HostName, claimsTo: ClaimsTo, owners: HostOwners): CompiledHost {
  const served = owners.served(host, claimsTo);
  const owner = owners.ownerOf(host, claimsTo);
  const allocation = new Allocation(host);
  const shares = new Map<string, Share>();
  const claims = claimsTo(host);
  const closers = closersOf(claims);
  for (const claim of served) {
    const closer = closers.get(claim.ingress.namespace);
    const share =
      closer === undefined || claim.closesHost
        ? allocation.add(claim)
        : withProblem(allocation.add(closedClaim(claim)), hostClosed(host, claim, closer));
    shares.set(claim.ingress.key, share);
  }
  for (const claim of claims) {
    if (shares.has(claim.ingress.key)) continue;
    shares.set(claim.ingress.key, { served: [], problems: [notOwned(host, claim, claimsTo, owners)] });
  }
  const { routes, fallback } = allocation;
  if (owner === undefined && routes.length === 0 && fallback === undefined)
    return { routes: undefined, shares };
  const redirect = served.some(({ redirectToHttps }) => redirectToHttps);
  return {
    routes: {
      host,
      namespace: owner ?? '',
      routes: routes.sort(comparePrecedence),
      ...(fallback && { fallback }),
      ...(redirect && { redirectToHttps: true }),
    },
    shares,
  };
}

/**
 * The host, closed for all paths: nothing that a claim of this namespace asks to protect is reachable by another way. Undefined
 * if no claim closes it. `compiled` is what the claims make of the host.
 */
export function closedHost(
  host: HostName,
  namespace: string,
  claims: readonly HostClaim[],
  compiled: CompiledHost | undefined,
): CompiledHost | undefined {
  const closer = closersOf(claims).get(namespace);
  if (closer === undefined) return undefined;
  const routes = compiled?.routes ?? { host, namespace, routes: [] };
  const shares = compiled?.shares ?? new Map<string, Share>();
  if (routes.fallback !== undefined) return { routes, shares };
  const fallback = closedFallback(closer);
  const { key } = closer.ingress;
  const { served = [], problems = [] } = shares.get(key) ?? {};
  return {
    routes: { ...routes, fallback: fallback.value },
    shares: new Map([...shares, [key, { served: [...served, fallback], problems }]]),
  };
}

const DEFAULT_BACKEND = 'Default backend';

/** Assigns each path, and the default backend, to the first claim that has it. Add the oldest claim first. */
class Allocation {
  readonly routes: Route[] = [];
  fallback: RouteAction | undefined;
  readonly #host: HostName;
  /** The claim that has a path. */
  readonly #holders = new Map<string, HostClaim>();

  constructor(host: HostName) {
    this.#host = host;
  }

  add(claim: HostClaim): Share {
    const served: Wanted<unknown>[] = [];
    const problems: IngressProblem[] = [];
    const isFree = (what: string, wanted: Wanted<unknown>): boolean => {
      const holder = this.#holders.get(what);
      if (holder === undefined) {
        this.#holders.set(what, claim);
        served.push(wanted);
      } else problems.push(pathConflict(this.#host, what, wanted, claim, holder));
      return holder === undefined;
    };
    for (const wanted of claim.routes) {
      const { match, path } = wanted.value;
      if (isFree(`${match} ${path}`, wanted)) this.routes.push(wanted.value);
    }
    if (claim.fallback !== undefined && isFree(DEFAULT_BACKEND, claim.fallback)) {
      this.fallback = claim.fallback.value;
    }
    return { served, problems };
  }
}

const withProblem = ({ served, problems }: Share, problem: IngressProblem): Share => ({
  served,
  problems: [...problems, problem],
});

/** An owned host that is on another router, or that no Ingress names at the moment. */
export const withoutRoutes = (host: HostName, namespace: string): CompiledHost => ({
  routes: { host, namespace, routes: [] },
  shares: new Map(),
});

/** Why an Ingress gets nothing of a host. */
function notOwned(host: HostName, claim: HostClaim, claimsTo: ClaimsTo, owners: HostOwners): IngressProblem {
  const { field, ingress } = claim;
  const { namespace } = ingress;
  const holder = owners.holderOf(host);
  const refusal = holder === undefined ? owners.explain(host, namespace) : hostConflict(host, holder);
  if (refusal !== undefined) return ingressProblem(refusal.reason, field, refusal.message);
  const wildcard = owners.wildcardBefore(host, claim, claimsTo);
  if (wildcard !== undefined) {
    const message = `Host ${host} is below ${wildcard}, which belongs to another namespace. An Ingress of namespace ${namespace} cannot use it.`;
    return ingressProblem('HostConflict', field, message);
  }
  const owner = owners.ownerOf(host, claimsTo);
  if (owner !== undefined) {
    const message = `Host ${host} belongs to namespace ${owner}, whose Ingress is older. An Ingress of another namespace cannot use it.`;
    return ingressProblem('HostConflict', field, message);
  }
  const what = host === '' ? 'use rules without a host' : `have host ${host}`;
  const message = `There is no HostClaim that lets namespace ${namespace} ${what} yet. The manager records it, unless the IngressClassPolicy of the class or another claim prevents that.`;
  return ingressProblem('HostNotClaimed', field, message);
}

function pathConflict(
  host: HostName,
  what: string,
  { field }: Wanted<unknown>,
  loser: HostClaim,
  { ingress: { key } }: HostClaim,
): IngressProblem {
  const where = host === '' ? 'all hosts' : host;
  const why =
    key === loser.ingress.key
      ? 'appears more than once in this Ingress; the first one is used'
      : `is already served by Ingress ${key}, which is older`;
  return ingressProblem('PathConflict', field, `${what} of ${where} ${why}.`);
}
