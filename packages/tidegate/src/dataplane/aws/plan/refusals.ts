import type { Route, RouteAction, Upstream } from '../../../ingress/model.ts';
import type { FailedHost, RouterSnapshot } from '../../../ingress/provisioners/index.ts';
import { keyProblem } from './rule-key.ts';
import type { HealthCheck, Quotas, RuleKey } from './state.ts';
import { groupOf } from './target-groups.ts';

/** What an ALB cannot do. A refused host answers 503, and the reason is reported for it. */

/** The largest number of target groups of one rule. */
const MOST_GROUPS = 5;
/** The largest weight of a target group. */
const MOST_WEIGHT = 999;

/** Why a host with this name cannot be served. Its requests reach no rule, so nothing else may answer them either. */
export function hostRefusal(key: RuleKey): FailedHost | undefined {
  const problem = keyProblem(key);
  if (problem === 'host')
    return {
      reason: 'HostNotSupported',
      message: `A rule of an Application Load Balancer cannot name the host ${key.host}: a host needs a dot, and only letters after the last dot. The host is not served. Use another host name, or another class.`,
    };
  if (problem === 'hostLength')
    return {
      reason: 'HostNotSupported',
      message: `A rule of an Application Load Balancer has at most 128 characters for a host, and ${key.host} needs more. The host is not served. Use a shorter name, or another class.`,
    };
  return undefined;
}

/** Why a route cannot be served. Undefined if it can. */
export function routeRefusal(
  key: RuleKey,
  { source, backends, policy }: RouteAction,
  { headers = [], match }: Partial<Pick<Route, 'headers' | 'match'>>,
  upstreams: RouterSnapshot['upstreams'],
  health: HealthCheck,
): FailedHost | undefined {
  const where = `Ingress ${source.namespace}/${source.name}, path ${key.path || '(default backend)'}:`;
  const refused = (reason: string, message: string): FailedHost => ({
    reason,
    message: `${where} ${message} All requests of the host get the response 503.`,
  });
  const problem = keyProblem(key);
  if (match === 'Regex' || policy !== undefined)
    return refused('NotSupported', 'An Application Load Balancer has no regular expressions and policies.');
  if (headers.length > 0)
    return refused('HeadersNotSupported', 'An Application Load Balancer ignores the case of headers.');
  if (problem === 'path')
    return refused(
      'PathNotSupported',
      'A path of an Application Load Balancer has letters, digits and _-.$/~"\'@:+& only, and * and ? would match other paths too. Use another path.',
    );
  if (problem === 'pathLength')
    return refused(
      'PathNotSupported',
      'A path of an Application Load Balancer has at most 128 characters, 126 for the type Prefix. Use a shorter path.',
    );
  const used = backends.filter(({ weight }) => weight > 0);
  if (used.length > MOST_GROUPS || used.some(({ weight }) => weight > MOST_WEIGHT))
    return refused(
      'BackendNotSupported',
      `A rule of an Application Load Balancer has at most ${MOST_GROUPS} backends, with weights up to ${MOST_WEIGHT}.`,
    );
  const known = used.flatMap(({ upstream }): Upstream | Upstream[] => upstreams.get(upstream) ?? []);
  if (known.some((upstream) => groupOf(upstream, health) === undefined))
    return refused(
      'BackendNotSupported',
      'An Application Load Balancer needs endpoints with IP addresses of one family, and HTTP or HTTPS.',
    );
  return undefined;
}

export const noRoom = (what: keyof Quotas, quotas: Quotas): FailedHost => ({
  reason: 'QuotaExceeded',
  message: `The load balancer has no room for this host: AWS allows ${quotas[what]} ${QUOTA_NAMES[what]}. All requests of the host get the response 503. Lower maxHosts or maxRules of the class, so that it gets more load balancers, or ask AWS for a larger quota and set the parameter ${QUOTA_PARAMETERS[what]}.`,
});

const QUOTA_NAMES: Readonly<Record<keyof Quotas, string>> = {
  rules: 'rules for each load balancer',
  certificates: 'certificates for each load balancer',
  groups: 'target groups for each load balancer',
  targets: 'targets for each load balancer',
};

const QUOTA_PARAMETERS: Readonly<Record<keyof Quotas, string>> = {
  rules: 'quotaRules',
  certificates: 'quotaCertificates',
  groups: 'quotaTargetGroups',
  targets: 'quotaTargets',
};
