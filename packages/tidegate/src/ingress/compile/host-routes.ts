import { comparePrecedence } from '../match/index.ts';
import type { HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import type { HostClaim, Wanted } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** One host as it is served, and what became of everybody who wanted something of it. */
export interface CompiledHost {
  /** Undefined when nothing is served for it. */
  readonly routes: HostRoutes | undefined;
  /** By the key of the Ingress. */
  readonly shares: ReadonlyMap<string, Share>;
}

export interface Share {
  readonly served: readonly Wanted<unknown>[];
  readonly problems: readonly IngressProblem[];
}

/** Whose the host is: the first who named it. All hosts together are nobody's. */
export const ownerOf = (host: HostName, oldestFirst: readonly HostClaim[]): string | undefined =>
  host === '' ? undefined : oldestFirst[0]?.ingress.namespace;

export function compileHost(host: HostName, oldestFirst: readonly HostClaim[]): CompiledHost {
  const owner = ownerOf(host, oldestFirst);
  const [oldest] = oldestFirst;
  const isOurs = ({ ingress }: HostClaim): boolean => owner === undefined || ingress.namespace === owner;
  const division = new Division(host);
  const shares = new Map<string, Share>();
  for (const claim of oldestFirst) {
    const share = isOurs(claim)
      ? division.take(claim)
      : { served: [], problems: [hostConflict(host, claim, oldest)] };
    shares.set(claim.ingress.key, share);
  }
  const { routes, fallback } = division;
  if (routes.length === 0 && fallback === undefined) return { routes: undefined, shares };
  const redirect = oldestFirst.some((claim) => claim.redirectToHttps && isOurs(claim));
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

const DEFAULT_BACKEND = 'The default backend';

/** Gives everything to the first who wants it. */
class Division {
  readonly routes: Route[] = [];
  fallback: RouteAction | undefined;
  readonly #host: HostName;
  readonly #holders = new Map<string, HostClaim>();

  constructor(host: HostName) {
    this.#host = host;
  }

  take(claim: HostClaim): Share {
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
  const message = `The host ${host} belongs to namespace ${namespace}: Ingress ${key} named it first. Nothing is served for it from here.`;
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
      ? 'is there twice in this Ingress; the first counts'
      : `is served by Ingress ${key}, which is older`;
  return ingressProblem('PathConflict', field, `${what} of ${where} ${why}.`);
}
