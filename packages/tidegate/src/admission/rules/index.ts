import type { Cache } from '@tidegate/kube';
import type { YurtIngress } from '../../api/index.ts';
import type { Membership, ReachSources } from '../../pools/index.ts';
import type { AdmissionRule } from '../rule.ts';
import { defaultIngressClassRule } from './default-ingress-class.ts';
import { edgeApplicationRule } from './edge-application.ts';
import { type IngressSources, ingressRule } from './ingress.ts';
import { ingressClassParametersRule } from './ingress-class-parameters.ts';
import { l7RouterRule } from './l7-router.ts';
import { nodeGroupRule } from './node-group.ts';
import { nodePoolRule } from './node-pool.ts';
import { podOutOfReachRule } from './pod-out-of-reach.ts';
import type { Rights } from './rights-of-writer.ts';
import { yurtIngressRule } from './yurt-ingress.ts';

/** What rules look at. */
export interface RuleSources {
  membership: Membership;
  rights: Rights;
  ingresses: IngressSources;
  yurtIngresses: Pick<Cache<YurtIngress>, 'list'>;
  reach: Omit<ReachSources, 'membership'>;
  now: () => number;
}

/** All rules, a file each. An API server waits for the answer: all but the rights of users and what is said of nodes that nobody hears is read from
 * memory. */
export const admissionRules = (sources: RuleSources): AdmissionRule[] => {
  const { membership, rights, ingresses, yurtIngresses, reach, now } = sources;
  return [
    nodePoolRule(membership),
    nodeGroupRule(membership),
    podOutOfReachRule({ membership, ...reach }),
    edgeApplicationRule(membership, rights),
    yurtIngressRule(membership, yurtIngresses),
    ingressClassParametersRule(),
    l7RouterRule(ingresses.classes),
    defaultIngressClassRule(ingresses.classes),
    ingressRule(ingresses, now),
  ];
};
