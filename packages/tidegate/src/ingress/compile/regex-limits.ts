/** Leaves out the regular expressions of a host that exceed its limits. Pure. */
import type { HostName, Route } from '../model.ts';
import { isGuarded } from '../policy/index.ts';
import { closedUpstream } from './backend.ts';
import { closedClaim } from './closed-hosts.ts';
import type { HostClaim, Wanted } from './facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import { REGEX_LIMIT, RegexCount } from './regex-count.ts';
import { asRegex } from './written-path.ts';

export interface WithinLimits {
  readonly claims: readonly HostClaim[];
  /** By the key of the Ingress. */
  readonly problems: ReadonlyMap<string, IngressProblem>;
  /** A claim that protects a path beyond the limits, so that the host is closed. */
  readonly closer?: HostClaim;
}

/** Leaves out the paths beyond the limits, those of the youngest claims. Add the oldest claim first. */
export function withinRegexLimits(host: HostName, claims: readonly HostClaim[]): WithinLimits {
  const problems = new Map<string, IngressProblem>();
  const hasRegex = claims.some(({ asks, routes }) => asks.regex && routes.length > 0);
  if (host === '' || !hasRegex) return { claims, problems };
  const count = new RegexCount();
  let closer: HostClaim | undefined;
  const within = claims.map((claim): HostClaim => {
    const isWithin = ({ value }: Wanted<Route>): boolean => count.admits(value.path, () => asRegex(value));
    const routes = claim.routes.filter(isWithin);
    if (routes.length === claim.routes.length) return claim;
    const left = claim.routes.filter((wanted) => !isWithin(wanted));
    problems.set(claim.ingress.key, tooMany(host, left[0]!));
    if (closer !== undefined || !left.some(isProtected)) return { ...claim, routes };
    closer = closedClaim({ ...claim, routes, closesHost: true });
    return closer;
  });
  return { claims: within, problems, ...(closer && { closer }) };
}

/** Not every client may use the path, so no other path may be used for its requests. */
const isProtected = ({ value: { action }, upstream }: Wanted<Route>): boolean =>
  isGuarded(action.policy) || upstream.id === closedUpstream(upstream.namespace).id;

const tooMany = (host: HostName, { field }: Wanted<Route>): IngressProblem =>
  ingressProblem(
    'TooManyPaths',
    field,
    `Host ${host} can have ${REGEX_LIMIT}. This path and others that follow in the Ingress are not served: use fewer or simpler expressions, or several hosts.`,
  );
