import { comparePrecedence } from '../match/index.ts';
import type { HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import { hostConflict } from '../ownership/index.ts';
import { hasSameGuards, isGuarded, joinedHandshake, type RoutePolicy } from '../policy/index.ts';
import { withCanaries } from './canaries.ts';
import {
  aliasNotServed,
  closedClaim,
  closedFallback,
  closersOf,
  hostClosed,
  listNotServed,
} from './closed-hosts.ts';
import type { HostClaim, Share, Wanted } from './facts.ts';
import type { ClaimsTo, HostOwners } from './host-owners.ts';
import {
  authorityConflicts,
  effective,
  securedClaim,
  withClientCertificates,
  withHostPolicies,
  withRegex,
} from './host-policies.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import { READINGS_LIMIT, ReadingsCount } from './readings-count.ts';
import { withinRegexLimits } from './regex-limits.ts';

/** The routes of one host, and the share of each Ingress that claims it. */
export interface CompiledHost {
  /** Undefined if the host has neither routes nor an owner. */
  readonly routes: HostRoutes | undefined;
  /** By key of the Ingress. */
  readonly shares: ReadonlyMap<string, Share>;
}

/**
 * Compiles the claims on one host. Only claims of the owning namespace count, so that a tenant cannot take over a path
 * of a host of another tenant. For the empty name, claims of all namespaces that may use it count. An owned host without
 * routes is a result too: it keeps rules without a host of other namespaces from being used for it.
 */
export function compileHost(host: HostName, claimsTo: ClaimsTo, owners: HostOwners): CompiledHost {
  const entitled = owners.served(host, claimsTo);
  const canaries = entitled.filter(({ asks, closesHost }) => asks.canary !== undefined && !closesHost);
  const served = canaries.length === 0 ? entitled : entitled.filter((claim) => !canaries.includes(claim));
  const owner = owners.ownerOf(host, claimsTo);
  const claims = claimsTo(host);
  const used = effective(served);
  const limited = withinRegexLimits(host, withClientCertificates(host, used));
  const closers = closersOf(limited.closer === undefined ? claims : [limited.closer, ...claims]);
  const both = { served, claims: limited.claims };
  const first = allocate(host, both, (namespace) => closers.get(namespace), hostClosed);
  // What is served in place of a guarded path would be open.
  const yielding = served.filter((claim) => !used.includes(claim) && first.allocation.exposes(claim));
  const { exposed } = first.allocation;
  const { allocation, shares } =
    exposed.size === 0
      ? first
      : allocate(
          host,
          both,
          (namespace) => closers.get(namespace) ?? exposed.get(namespace),
          (at, claim, closer) => (closer.closesHost ? hostClosed : listNotServed)(at, claim, closer),
        );
  for (const claim of served)
    if (!shares.has(claim.ingress.key)) shares.set(claim.ingress.key, { served: [], problems: [] });
  for (const claim of yielding)
    shares.set(
      claim.ingress.key,
      withProblem({ served: [], problems: [] }, aliasNotServed(host, claim, used)),
    );
  for (const claim of claims) {
    if (shares.has(claim.ingress.key) || canaries.includes(claim)) continue;
    shares.set(claim.ingress.key, { served: [], problems: [notOwned(host, claim, claimsTo, owners)] });
  }
  for (const [key, problem] of limited.problems) shares.set(key, withProblem(shares.get(key)!, problem));
  const exposing = host === '' || owner === undefined ? undefined : exposed.get(owner);
  const closer = limited.closer ?? exposing;
  if (closer !== undefined && allocation.fallback === undefined) {
    // Rules without a host must not answer for a closed host.
    const closed = closedFallback(closer);
    allocation.fallback = closed.value;
    const { served: own, problems } = shares.get(closer.ingress.key)!;
    shares.set(closer.ingress.key, { served: [...own, closed], problems });
  }
  const { fallback } = allocation;
  const canaried = withCanaries(host, allocation.routes, canaries);
  for (const [key, share] of canaried.shares) shares.set(key, share);
  const { routes, warnings } = withRegex(host, canaried.routes, served);
  for (const [key, warning] of [...warnings, ...authorityConflicts(host, used)])
    shares.set(key, withProblem(shares.get(key)!, warning));
  if (owner === undefined && routes.length === 0 && fallback === undefined)
    return { routes: undefined, shares };
  const redirect = served.some(({ redirectToHttps }) => redirectToHttps);
  const appRoot =
    host === '' ? undefined : served.find(({ asks }) => asks.appRoot !== undefined)?.asks.appRoot;
  // Rules without a host are shared by namespaces, and have no server name.
  const handshake = host === '' ? undefined : joinedHandshake(served.map(({ asks }) => asks.handshake));
  return {
    routes: withHostPolicies({
      host,
      namespace: owner ?? '',
      routes: [...routes].sort(comparePrecedence),
      ...(fallback && { fallback }),
      ...(redirect && { redirectToHttps: true }),
      ...(appRoot !== undefined && { appRoot }),
      ...(handshake && { handshake }),
    }),
    shares,
  };
}

/**
 * Assigns the paths of a host. `claims` are those of `served` that have an effect. `closerOf`: the claim that closes the host
 * for a namespace; `why` explains it.
 */
function allocate(
  host: HostName,
  { served, claims }: Readonly<Record<'served' | 'claims', readonly HostClaim[]>>,
  closerOf: (namespace: string) => HostClaim | undefined,
  why: typeof hostClosed,
): { allocation: Allocation; shares: Map<string, Share> } {
  const allocation = new Allocation(host, claims.some(hasGuards));
  const shares = new Map<string, Share>();
  // Only what is served counts: otherwise `tls` of any tenant would redirect hosts of others.
  const withTls = new Set(served.flatMap(({ asks, ingress }) => (asks.hasTls ? [ingress.namespace] : [])));
  for (const claim of claims) {
    const { key, namespace } = claim.ingress;
    const closer = closerOf(namespace);
    const wanted = securedClaim(claim, withTls.has(namespace));
    const share =
      closer === undefined || claim.closesHost
        ? allocation.add(wanted)
        : withProblem(allocation.add(closedClaim(wanted)), why(host, claim, closer));
    shares.set(key, share);
  }
  return { allocation, shares };
}

/** All routes of an Ingress have the same guards. */
const hasGuards = ({ routes: [first], fallback }: HostClaim): boolean =>
  isGuarded(first?.value.action.policy) || isGuarded(fallback?.value.policy);

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

/**
 * How many paths of a host a namespace can have, in all of its Ingresses. Routers compare a request with the paths of its
 * host one after the other, and they serve the requests of all tenants.
 */
const MOST_ROUTES = 5_000;

/** Assigns each path, and the default backend, to the first claim that has it. Add the oldest claim first. */
class Allocation {
  readonly routes: Route[] = [];
  fallback: RouteAction | undefined;
  readonly #host: HostName;
  /** By namespace: the first claim with a guard that is not applied, because a path or default backend of it is not served. */
  readonly exposed = new Map<string, HostClaim>();
  /** The claim that has a path, and its policies. */
  readonly #holders = new Map<string, { claim: HostClaim; policy: RoutePolicy | undefined }>();
  /** How many routes each namespace has. */
  readonly #counts = new Map<string, number>();
  /** Only for a guarded host, by namespace. */
  readonly #readings: Map<string, ReadingsCount> | undefined;

  constructor(host: HostName, isGuardedHost: boolean) {
    this.#host = host;
    this.#readings = isGuardedHost ? new Map() : undefined;
  }

  add(claim: HostClaim): Share {
    const served: Wanted<unknown>[] = [];
    const problems: IngressProblem[] = [];
    const isFree = (what: string, wanted: Wanted<unknown>, { policy }: RouteAction): boolean => {
      const holder = this.#holders.get(what);
      if (holder === undefined) {
        this.#holders.set(what, { claim, policy });
        served.push(wanted);
        return true;
      }
      problems.push(pathConflict(this.#host, what, wanted, claim, holder.claim));
      if (isGuarded(policy) && !hasSameGuards(policy, holder.policy)) this.#expose(claim);
      return false;
    };
    const { namespace } = claim.ingress;
    let count = this.#counts.get(namespace) ?? 0;
    const readings = this.#readings?.get(namespace) ?? new ReadingsCount();
    this.#readings?.set(namespace, readings);
    for (const wanted of claim.routes) {
      const { match, path, action } = wanted.value;
      const isWithin = this.#readings === undefined || match === 'Regex' || readings.admits(path);
      if (count >= MOST_ROUTES || !isWithin) {
        problems.push((isWithin ? tooManyPaths : tooManyReadings)(this.#host, wanted));
        // All routes of an Ingress have the same guards.
        if (isGuarded(action.policy)) this.#expose(claim);
        break;
      }
      if (!isFree(`${match} ${path}`, wanted, action)) continue;
      this.routes.push(wanted.value);
      count++;
    }
    this.#counts.set(namespace, count);
    const { fallback } = claim;
    if (fallback !== undefined && isFree(DEFAULT_BACKEND, fallback, fallback.value))
      this.fallback = fallback.value;
    return { served, problems };
  }

  /**
   * Whether the claim has a guard, and gets no routes although others of the host are served. Call it after all claims were
   * added.
   */
  exposes(claim: HostClaim): boolean {
    const actions = claim.routes.map(({ value: { match, path, action } }): [string, RouteAction] => [
      `${match} ${path}`,
      action,
    ]);
    if (claim.fallback !== undefined) actions.push([DEFAULT_BACKEND, claim.fallback.value]);
    const isExposed = actions.some(([what, { policy }]) => {
      // A redirect shows nothing that a guard protects.
      if (!isGuarded(policy) || policy?.redirect !== undefined) return false;
      const hasGuards = (holder: { policy: RoutePolicy | undefined } | undefined): boolean =>
        holder !== undefined && hasSameGuards(policy, holder.policy);
      return !hasGuards(this.#holders.get(what)) && ![...this.#holders.values()].every(hasGuards);
    });
    if (isExposed) this.#expose(claim);
    return isExposed;
  }

  #expose(claim: HostClaim): void {
    const { namespace } = claim.ingress;
    if (!this.exposed.has(namespace)) this.exposed.set(namespace, claim);
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

const tooManyPaths = (host: HostName, { field }: Wanted<unknown>): IngressProblem =>
  ingressProblem(
    'TooManyPaths',
    field,
    `The Ingresses of a namespace can have ${MOST_ROUTES} paths ${host === '' ? 'without a host' : `of host ${host}`}. This path and all that follow in the Ingress are not served: use fewer paths, for example of type Prefix, or several hosts.`,
  );

const tooManyReadings = (host: HostName, { field }: Wanted<unknown>): IngressProblem =>
  ingressProblem(
    'TooManyPaths',
    field,
    `An Ingress ${host === '' ? 'without a host' : `of host ${host}`} has users, limits or lists of addresses, so the Ingresses of a namespace can have ${READINGS_LIMIT} there. This path and all that follow in the Ingress are not served: use fewer or shorter paths, paths without %, ; and backslashes, or several hosts.`,
  );

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
