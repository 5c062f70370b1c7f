import {
  type AttachedPolicy,
  CLUSTER_ROUTE_POLICIES,
  type KindResource,
  ROUTE_POLICIES,
} from '../../api/index.ts';
import { readAttachedPolicy } from '../../ingress/attached-policies/index.ts';
import { policyProblems } from '../../ingress/compile/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { changedSpec } from './changed-spec.ts';

/** What a schema cannot express: networks, URLs, regular expressions. The same code reads the policies in routers. */
const routePolicyRule = (kind: string, resource: KindResource<AttachedPolicy>): AdmissionRule => ({
  group: resource.group,
  versions: [resource.version],
  resource: resource.resource,
  scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  operations: ['CREATE', 'UPDATE'],
  // Routers close what they cannot protect. The webhook only reports problems earlier.
  failurePolicy: 'Ignore',
  evaluate(request): AdmissionResult {
    const spec = changedSpec<AttachedPolicy['spec']>(request);
    if (spec === undefined) return {};
    const { apiVersion = '', metadata } = request.object!;
    const { namespace } = request;
    const named = { ...metadata, ...(namespace && { namespace }) } as AttachedPolicy['metadata'];
    const policy = readAttachedPolicy({ apiVersion, kind, metadata: named, spec });
    return {
      problems: policyProblems(policy).map(({ field, message }) => ({ path: field, message })),
      warnings:
        (spec.targetRefs ?? []).length === 0
          ? ['spec.targetRefs: the policy has no targets, and no effect']
          : [],
    };
  },
});

export const routePolicyRules = (): AdmissionRule[] => [
  routePolicyRule('RoutePolicy', ROUTE_POLICIES),
  routePolicyRule('ClusterRoutePolicy', CLUSTER_ROUTE_POLICIES),
];
