/**
 * The rules of admission, one file per kind. A rule says which requests it is for, and decides about one request: allow,
 * warn, change, or reject with the field and what to do.
 *
 * `kubectl apply` of an Ingress whose host belongs to another namespace:
 *
 * 1. ingress.ts gets the request. changed-spec.ts says whether the spec changes at all: what was stored before the webhook
 *    existed must stay deletable and correctable.
 * 2. ingress-problems.ts compiles the Ingress with those that exist (ingress-sources.ts), with the compiler that routers
 *    use, and finds that the host is taken.
 * 3. The rule rejects the request: the message names the owner of the host and the field `spec.rules[0].host`.
 *
 * edge-application-status.ts protects the record of what an application created. edge-application.ts also checks the
 * permissions of the author (author-permissions.ts, required-permissions.ts), because the manager creates the objects with
 * its own; yurt-app.ts does the same for the application kinds of OpenYurt. fields.ts validates fields that several kinds share. schema-rules.ts has the rules of the schemas, for API servers
 * that do not evaluate them.
 */
import type { Cache } from '@tidegate/kube';
import type { YurtIngress } from '../../api/index.ts';
import type { Membership, ReachabilitySources } from '../../pools/index.ts';
import type { AdmissionRule } from '../rule.ts';
import type { PermissionSources } from './author-permissions.ts';
import { defaultIngressClassRule } from './default-ingress-class.ts';
import { edgeApplicationRule } from './edge-application.ts';
import { edgeApplicationStatusRule } from './edge-application-status.ts';
import { hostClaimRule } from './host-claim.ts';
import { type IngressSources, ingressRule } from './ingress.ts';
import { ingressClassParametersRule, ingressClassRule } from './ingress-class-parameters.ts';
import { ingressStatusRule } from './ingress-status.ts';
import { l7RouterRule } from './l7-router.ts';
import { nodeGroupRule } from './node-group.ts';
import { type NodeIdentitySources, nodeIdentityRules } from './node-identity.ts';
import { nodePoolRule } from './node-pool.ts';
import { routePolicyRules } from './route-policy.ts';
import { withSchemaRules } from './schema-rules.ts';
import { unreachablePodDeletionRule, unreachablePodRule } from './unreachable-pod.ts';
import { type YurtAppSources, yurtAppRules } from './yurt-app.ts';
import { yurtIngressRule } from './yurt-ingress.ts';

/** The state that rules read. */
export interface RuleSources {
  membership: Membership;
  targetLabels: NodeIdentitySources['targetLabels'];
  permissions: PermissionSources;
  ingresses: IngressSources;
  yurtIngresses: Pick<Cache<YurtIngress>, 'list'>;
  yurtApps: Omit<YurtAppSources, 'permissions'>;
  reachability: Omit<ReachabilitySources, 'membership'>;
  registration: NodeIdentitySources['registration'];
  now: () => number;
}

/**
 * All rules, one file each. An API server waits for the result, so rules read from informer caches. There are
 * exceptions, which send requests: the permissions of users, the leases of nodes that are not ready, and nodes that change
 * themselves.
 */
export const admissionRules = (sources: RuleSources): AdmissionRule[] => {
  const { membership, targetLabels, permissions, ingresses, yurtIngresses, reachability, registration, now } =
    sources;
  const { yurtApps } = sources;
  return [
    nodePoolRule(membership),
    nodeGroupRule(membership),
    ...nodeIdentityRules({ membership, targetLabels, registration, nodes: reachability }),
    unreachablePodRule({ membership, ...reachability }),
    unreachablePodDeletionRule({ membership, ...reachability }),
    edgeApplicationRule(membership, permissions),
    edgeApplicationStatusRule(permissions),
    yurtIngressRule(membership, yurtIngresses),
    ...yurtAppRules({ ...yurtApps, permissions }),
    ingressClassParametersRule(ingresses),
    ingressClassRule(ingresses),
    l7RouterRule(ingresses.classes),
    hostClaimRule(),
    ...routePolicyRules(),
    defaultIngressClassRule(ingresses.classes),
    ingressRule(ingresses, now),
    ingressStatusRule(ingresses, now),
  ].map(withSchemaRules);
};
