import { comparePrecedence } from '../match/index.ts';
import type { HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import type { HostClaim, Wanted } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** The routes of one host, and the share of each Ingress that claims it. */
export interface CompiledHost {
  /** Undefined if the host has no routes. */
  readonly routes: HostRoutes | undefined;
  /** By key of the Ingress. */
  readonly shares: ReadonlyMap<string, Share>;
}

/** What one Ingress got of a host. */
export interface Share {
  /** The routes and default backends that are served. */
  readonly served: readonly Wanted<unknown>[];
  /** Conflicts with older Ingresses. */
  readonly problems: readonly IngressProblem[];
}

/** Namespace that owns the host: that of the oldest Ingress that names it. The empty name has no owner. */
export const ownerOf = (host: HostName, oldestFirst: readonly HostClaim[]): string | undefined =>
  host === '' ? undefined : oldestFirst[0]?.ingress.namespace;

/**
 * Compiles the claims on one host. Only claims of the owning namespace count, so that a tenant cannot take over a path
 * of a host of another tenant. For the empty name, claims of all namespaces count.
 */
export function compileHost(host: HostName, oldestFirst: readonly HostClaim[]): CompiledHost {
  const owner = ownerOf(host, oldestFirst);
  const [oldest] = oldestFirst;
  const isOwners = ({ ingress }: HostClaim): boolean => owner === undefined || ingress.namespace === owner;
  const allocation = new Allocation(host);
  const shares = new Map<string, Share>();
  for (const claim of oldestFirst) {
    const share = isOwners(claim)
      ? allocation.add(claim)
      : { served: [], problems: [hostConflict(host, claim, oldest)] };
    shares.set(claim.ingress.key, share);
  }
  const { routes, fallback } = allocation;
  if (routes.length === 0 && fallback === undefined) return { routes: undefined, shares };
  const redirect = oldestFirst.some((claim) => claim.redirectToHttps && isOwners(claim));
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

function hostConflict(host: HostName, { field }: HostClaim, oldest: HostClaim | undefined): IngressProblem {
  const { namespace, key } = oldest?.ingress ?? { namespace: '', key: '' };
  const message = `Host ${host} belongs to namespace ${namespace}, because Ingress ${key} is older. An Ingress of another namespace cannot use it.`;
  return ingressProblem('HostConflict', field, message);
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
