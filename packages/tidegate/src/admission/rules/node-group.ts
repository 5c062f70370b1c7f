import { NODE_GROUPS, type NodeGroup } from '../../api/index.ts';
import type { Membership } from '../../pools/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { changedSpec } from './changed-spec.ts';
import { labelProblems } from './fields.ts';
import { nodeAddressProblems } from './node-addresses.ts';

export const nodeGroupRule = (membership: Pick<Membership, 'hasNode'>): AdmissionRule => ({
  group: NODE_GROUPS.group,
  versions: [NODE_GROUPS.version],
  resource: NODE_GROUPS.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE'],
  // The schema already rejects everything that would do harm.
  failurePolicy: 'Ignore',
  evaluate(request): AdmissionResult {
    const spec = changedSpec<NodeGroup['spec']>(request);
    const addresses = nodeAddressProblems(request);
    if (spec === undefined) return addresses.length === 0 ? {} : { problems: addresses };
    const { nodes = [], matchLabels = {} } = spec;
    return {
      problems: [...labelProblems('spec.matchLabels', matchLabels), ...addresses],
      warnings: [
        ...(nodes.length === 0 && Object.keys(matchLabels).length === 0
          ? ['spec: the group selects no nodes; set spec.nodes or spec.matchLabels']
          : []),
        ...[...nodes.entries()]
          .filter(([, node]) => !membership.hasNode(node))
          .map(([index, node]) => `spec.nodes[${index}]: node ${JSON.stringify(node)} not found`),
      ],
    };
  },
});
