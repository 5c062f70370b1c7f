import type { Cache, IngressClass } from '../../kube/index.ts';
import type { Membership } from '../../pools/index.ts';
import type { AdmissionRule } from '../rule.ts';
import { defaultIngressClassRule } from './default-ingress-class.ts';
import { edgeApplicationRule } from './edge-application.ts';
import { ingressClassParametersRule } from './ingress-class-parameters.ts';
import { l7RouterRule } from './l7-router.ts';
import { nodeGroupRule } from './node-group.ts';
import { nodePoolRule } from './node-pool.ts';
import type { Rights } from './rights-of-writer.ts';

/** All rules, a file each. An API server waits for the answer: all but the rights of users is read from memory. */
export const admissionRules = (
  membership: Membership,
  rights: Rights,
  ingressClasses: Cache<IngressClass>,
): AdmissionRule[] => [
  nodePoolRule(membership),
  nodeGroupRule(membership),
  edgeApplicationRule(membership, rights),
  ingressClassParametersRule(),
  l7RouterRule(ingressClasses),
  defaultIngressClassRule(ingressClasses),
];
