import type { Membership } from '../../pools/index.ts';
import type { AdmissionRule } from '../rule.ts';
import { edgeApplicationRule } from './edge-application.ts';
import { nodeGroupRule } from './node-group.ts';
import { nodePoolRule } from './node-pool.ts';

/** All rules, a file each. They read only what is in memory: an API server waits for the answer. */
export const admissionRules = (membership: Membership): AdmissionRule[] => [
  nodePoolRule(membership),
  nodeGroupRule(membership),
  edgeApplicationRule(membership),
];
