import type { Membership } from '../../pools/index.ts';
import type { AdmissionRule } from '../rule.ts';
import { edgeApplicationRule } from './edge-application.ts';
import { nodeGroupRule } from './node-group.ts';
import { nodePoolRule } from './node-pool.ts';
import type { Rights } from './rights-of-writer.ts';

/** All rules, a file each. An API server waits for the answer: all but the rights of users is read from memory. */
export const admissionRules = (membership: Membership, rights: Rights): AdmissionRule[] => [
  nodePoolRule(membership),
  nodeGroupRule(membership),
  edgeApplicationRule(membership, rights),
];
