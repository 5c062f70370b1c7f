/** Required affinity and anti-affinity between pods: of the one that is placed, and of those that are there. */
import type { Pod } from '@tidegate/kube';
import type { Cluster, PlacedNode } from './cluster.ts';
import type { Filter } from './filters.ts';
import { affinityOf, antiAffinityOf, type NamespaceLabels, type PodTerm } from './pod-terms.ts';
import { lasting, passing } from './rejection.ts';

const FAR_FROM_FRIENDS = lasting("node(s) didn't match pod affinity rules");
const NEAR_TO_FOES = passing("node(s) didn't match pod anti-affinity rules");
const UNWANTED = passing("node(s) didn't satisfy existing pods anti-affinity rules");

export const podAffinityFilters = (pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter[] => [
  nearFriends(pod, cluster, labelsOf),
  farFromFoes(pod, cluster, labelsOf),
  welcome(pod, cluster, labelsOf),
];

function nearFriends(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter {
  const terms = affinityOf(pod);
  if (terms.length === 0) return () => undefined;
  const isFriend = (other: Pod): boolean => terms.every((term) => term.matches(other, labelsOf));
  const counts = terms.map((term) => countByDomain(cluster, term.topologyKey, isFriend));
  // The first of a group that keeps together has nobody to join yet.
  const isFirst = counts.every((count) => count.size === 0) && isFriend(pod);
  return ({ node }) => {
    const domains = terms.map(({ topologyKey }) => node.metadata.labels?.[topologyKey]);
    if (domains.includes(undefined)) return FAR_FROM_FRIENDS;
    if (isFirst || domains.every((domain, i) => counts[i]!.has(domain!))) return undefined;
    return FAR_FROM_FRIENDS;
  };
}

function farFromFoes(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter {
  const taken = antiAffinityOf(pod).map((term) => ({
    topologyKey: term.topologyKey,
    domains: countByDomain(cluster, term.topologyKey, (other) => term.matches(other, labelsOf)),
  }));
  return ({ node }) =>
    taken.some(({ topologyKey, domains }) => domains.has(node.metadata.labels?.[topologyKey] ?? NO_DOMAIN))
      ? NEAR_TO_FOES
      : undefined;
}

function welcome(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Filter {
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
      if (term.matches(pod, labelsOf)) close(term, labels?.[term.topologyKey]);
    }
  }
  return ({ node }) => {
    for (const [topologyKey, domains] of closed) {
      if (domains.has(node.metadata.labels?.[topologyKey] ?? NO_DOMAIN)) return UNWANTED;
    }
    return undefined;
  };
}

/** No label has this value, so that a node without the label is in no domain. */
const NO_DOMAIN = '\n';

/** How many pods of a kind are in each domain of a topology; domains without any are left out. */
export function countByDomain(
  cluster: Cluster,
  topologyKey: string,
  counts: (pod: Pod) => boolean,
  includes: (candidate: PlacedNode) => boolean = () => true,
): Map<string, number> {
  const found = new Map<string, number>();
  for (const candidate of cluster.nodes.values()) {
    const domain = candidate.node.metadata.labels?.[topologyKey];
    if (domain === undefined || !includes(candidate)) continue;
    let count = 0;
    for (const { pod } of candidate.load.pods.values()) if (counts(pod)) count++;
    if (count > 0) found.set(domain, (found.get(domain) ?? 0) + count);
  }
  return found;
}
