import { NODE_GROUPS, type NodeGroup } from '../../api/index.ts';
import type { Membership } from '../../pools/index.ts';
import type { Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { labelProblems } from './fields.ts';
import { specToJudge } from './spec-to-judge.ts';

export const nodeGroupRule = (membership: Pick<Membership, 'hasNode'>): AdmissionRule => ({
  group: NODE_GROUPS.group,
  versions: [NODE_GROUPS.version],
  resource: NODE_GROUPS.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE'],
  // The schema has refused what would do harm.
  failurePolicy: 'Ignore',
  judge(request): Verdict {
    const spec = specToJudge<NodeGroup['spec']>(request);
    if (spec === undefined) return {};
    const { nodes = [], matchLabels = {} } = spec;
    return {
      problems: labelProblems('spec.matchLabels', matchLabels),
      warnings: [
        ...(nodes.length === 0 && Object.keys(matchLabels).length === 0
          ? ['spec: the group chooses no node; name some in nodes, or choose them by matchLabels']
          : []),
        ...[...nodes.entries()]
          .filter(([, node]) => !membership.hasNode(node))
          .map(([index, node]) => `spec.nodes[${index}]: no node is called ${JSON.stringify(node)} yet`),
      ],
    };
  },
});
