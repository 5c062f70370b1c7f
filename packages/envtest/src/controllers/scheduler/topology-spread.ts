/** `topologySpreadConstraints`: no domain may have many more matching pods than the emptiest one. */

import { ownField, type Pod } from '@tidegate/kube';
import type { TopologySpreadConstraint } from 'kubernetes-types/core/v1.d.ts';
import type { Cluster, PlacedNode } from './cluster.ts';
import type { Filter } from './filters.ts';
import { matchesNodeSelector, toleratesTaints } from './node-fit.ts';
import { countByDomain } from './pod-affinity.ts';
import { selectorFor } from './pod-terms.ts';
import { resolvable, unresolvable } from './rejection.ts';

const UNEVEN = resolvable("node(s) didn't match pod topology spread constraints");
const NO_DOMAIN = unresolvable(
  "node(s) didn't match pod topology spread constraints (missing required label)",
);

type WhenUnsatisfiable = 'DoNotSchedule' | 'ScheduleAnyway';

const constraintsOf = (pod: Pod, when: WhenUnsatisfiable): TopologySpreadConstraint[] =>
  (pod.spec?.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);

export function spreadFilters(pod: Pod, cluster: Cluster): Filter[] {
  const constraints = constraintsOf(pod, 'DoNotSchedule');
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  return constraints.map((constraint) => {
    const { topologyKey, maxSkew, minDomains = 1 } = constraint;
    const matcher = matcherOf(pod, constraint);
    const eligible = (candidate: PlacedNode): boolean =>
      keys.every((key) => ownField(candidate.node.metadata.labels, key) !== undefined) &&
      isIncluded(pod, constraint, candidate);
    const counts = countByDomain(cluster, topologyKey, matcher, eligible);
    const domains = new Set<string>();
    for (const candidate of cluster.nodes.values()) {
      if (eligible(candidate)) domains.add(candidate.node.metadata.labels![topologyKey]!);
    }
    const perDomain = [...domains].map((domain) => counts.get(domain) ?? 0);
    const least = perDomain.length === 0 || perDomain.length < minDomains ? 0 : Math.min(...perDomain);
    const itself = matcher(pod) ? 1 : 0;
    return ({ node }) => {
      const domain = ownField(node.metadata.labels, topologyKey);
      if (domain === undefined) return NO_DOMAIN;
      return (counts.get(domain) ?? 0) + itself - least > maxSkew ? UNEVEN : undefined;
    };
  });
}

/** The number of matching pods in the node's domains, for constraints with ScheduleAnyway. Fewer is better. */
export function crowding(pod: Pod, cluster: Cluster): (candidate: PlacedNode) => number {
  const wishes = constraintsOf(pod, 'ScheduleAnyway').map((constraint) => ({
    topologyKey: constraint.topologyKey,
    counts: countByDomain(cluster, constraint.topologyKey, matcherOf(pod, constraint)),
  }));
  return ({ node }) => {
    let total = 0;
    for (const { topologyKey, counts } of wishes) {
      const domain = ownField(node.metadata.labels, topologyKey);
      // A node outside the topology is the last resort.
      total += domain === undefined ? Number.POSITIVE_INFINITY : (counts.get(domain) ?? 0);
    }
    return total;
  };
}

function matcherOf(pod: Pod, constraint: TopologySpreadConstraint): (other: Pod) => boolean {
  const labels = selectorFor(pod, constraint.labelSelector, { in: constraint.matchLabelKeys });
  return ({ metadata }) =>
    metadata.namespace === pod.metadata.namespace &&
    metadata.deletionTimestamp === undefined &&
    labels.matches(metadata.labels);
}

/** Whether the node counts for the skew. Nodes that the pod could never run on do not count as empty domains. */
function isIncluded(
  pod: Pod,
  { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' }: TopologySpreadConstraint,
  { node }: PlacedNode,
): boolean {
  if (nodeAffinityPolicy === 'Honor' && !matchesNodeSelector(pod, node)) return false;
  return nodeTaintsPolicy !== 'Honor' || toleratesTaints(pod, node, ['NoSchedule', 'NoExecute']);
}
