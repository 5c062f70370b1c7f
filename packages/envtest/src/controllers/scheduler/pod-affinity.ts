/** Required affinity and anti-affinity between pods: that of the pod being scheduled, and that of the existing pods. */
import { ownField, type Pod } from '@tidegate/kube';
import type { Cluster, PlacedNode } from './cluster.ts';
import type { Filter } from './filters.ts';
import { affinityOf, antiAffinityOf, type NamespaceLabels, type PodTerm } from './pod-terms.ts';
import { resolvable, unresolvable } from './rejection.ts';

const AFFINITY_REJECTION = unresolvable("node(s) didn't match pod affinity rules");
const ANTI_AFFINITY_REJECTION = resolvable("node(s) didn't match pod anti-affinity rules");
const EXISTING_ANTI_AFFINITY_REJECTION = resolvable(
  "node(s) didn't satisfy existing pods anti-affinity rules",
);

/** Three rules: the affinity of the pod, its anti-affinity, and the anti-affinity of the pods that already run. */
export const podAffinityFilters = (pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter[] => [
  affinityFilter(pod, cluster, labelsOf),
  antiAffinityFilter(pod, cluster, labelsOf),
  existingAntiAffinityFilter(pod, cluster, labelsOf),
];

function affinityFilter(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter {
  const terms = affinityOf(pod);
  if (terms.length === 0) return () => undefined;
  const matchesAll = (other: Pod): boolean => terms.every((term) => term.matches(other, labelsOf));
  const counts = terms.map((term) => countByDomain(cluster, term.topologyKey, matchesAll));
  // The first pod of a group with affinity to itself has no pod to join yet.
  const isFirst = counts.every((count) => count.size === 0) && matchesAll(pod);
  return ({ node }) => {
    const domains = terms.map(({ topologyKey }) => ownField(node.metadata.labels, topologyKey));
    if (domains.includes(undefined)) return AFFINITY_REJECTION;
    if (isFirst || domains.every((domain, i) => counts[i]!.has(domain!))) return undefined;
    return AFFINITY_REJECTION;
  };
}

function antiAffinityFilter(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter {
  const taken = antiAffinityOf(pod).map((term) => ({
    topologyKey: term.topologyKey,
    domains: countByDomain(cluster, term.topologyKey, (other) => term.matches(other, labelsOf)),
  }));
  return ({ node }) =>
    taken.some(({ topologyKey, domains }) =>
      domains.has(ownField(node.metadata.labels, topologyKey) ?? NO_DOMAIN),
    )
      ? ANTI_AFFINITY_REJECTION
      : undefined;
}

function existingAntiAffinityFilter(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter {
  const closed = new Map<string, Set<string>>();
  const close = ({ topologyKey }: PodTerm, domain: string | undefined): void => {
    if (domain === undefined) return;
    const domains = closed.get(topologyKey);
    if (domains === undefined) closed.set(topologyKey, new Set([domain]));
    else domains.add(domain);
  };
  for (const { antiAffinity, nodeName } of cluster.repelling) {
    const labels = cluster.nodes.get(nodeName)?.node.metadata.labels;
    for (const term of antiAffinity) {
      if (term.matches(pod, labelsOf)) close(term, ownField(labels, term.topologyKey));
    }
  }
  return ({ node }) => {
    for (const [topologyKey, domains] of closed) {
      if (domains.has(ownField(node.metadata.labels, topologyKey) ?? NO_DOMAIN))
        return EXISTING_ANTI_AFFINITY_REJECTION;
    }
    return undefined;
  };
}

/** Not a valid label value, so that a node without the label is in no domain. */
const NO_DOMAIN = '\n';

/** Counts the matching pods in each domain of a topology; domains without such pods are omitted. */
export function countByDomain(
  cluster: Cluster,
  topologyKey: string,
  counts: (pod: Pod) => boolean,
  includes: (candidate: PlacedNode) => boolean = () => true,
): Map<string, number> {
  const found = new Map<string, number>();
  for (const candidate of cluster.nodes.values()) {
    const domain = ownField(candidate.node.metadata.labels, topologyKey);
    if (domain === undefined || !includes(candidate)) continue;
    let count = 0;
    for (const { pod } of candidate.load.pods.values()) if (counts(pod)) count++;
    if (count > 0) found.set(domain, (found.get(domain) ?? 0) + count);
  }
  return found;
}
