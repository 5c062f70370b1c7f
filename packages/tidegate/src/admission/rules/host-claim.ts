import { HOST_CLAIMS } from '../../api/index.ts';
import type { AdmissionRule } from '../rule.ts';

/** Has no rules but those of the schema. */
export const hostClaimRule = (): AdmissionRule => ({
  group: HOST_CLAIMS.group,
  versions: [HOST_CLAIMS.version],
  resource: HOST_CLAIMS.resource,
  scope: 'Cluster',
  operations: ['UPDATE'],
  // The manager itself writes claims. It must not wait for its own webhook.
  failurePolicy: 'Ignore',
  evaluate: () => ({}),
});
