/** Chooses the best of the feasible nodes. */
import { ownField, type Pod } from '@tidegate/kube';
import { controllerOf } from '../pods/index.ts';
import type { Cluster, PlacedNode } from './cluster.ts';
import { matchesTerm, tolerates } from './node-fit.ts';
import { countByDomain } from './pod-affinity.ts';
import { type NamespaceLabels, preferencesOf } from './pod-terms.ts';
import { ONE, requestsOf } from './resources.ts';
import { crowding } from './topology-spread.ts';

const ZONE = 'topology.kubernetes.io/zone';

/** Lower is better. */
type Score = (candidate: PlacedNode) => number;

/**
 * Compares the nodes by several scores, the most important first; the next score counts only among equals.
 * kube-scheduler adds weighted scores instead; a strict order is easier to predict. What users have specified comes
 * before general heuristics: spread the pods of one owner over nodes, then over zones, then prefer the emptiest
 * node. The name decides last, so that the same cluster always gives the same result.
 */
export function best(
  pod: Pod,
  candidates: readonly PlacedNode[],
  cluster: Cluster,
  labelsOf: NamespaceLabels,
): PlacedNode | undefined {
  const scores = [
    avoidedTaints(pod),
    nodePreference(pod),
    podPreference(pod, cluster, labelsOf),
    crowding(pod, cluster),
    ...siblings(pod, cluster),
    fullness(pod),
  ];
  let remaining = candidates;
  for (const score of scores) {
    if (remaining.length < 2) break;
    const values = remaining.map(score);
    const least = Math.min(...values);
    remaining = remaining.filter((_, i) => values[i] === least);
  }
  return remaining.reduce<PlacedNode | undefined>(
    (a, b) => (a === undefined || nameOf(b) < nameOf(a) ? b : a),
    undefined,
  );
}

const nameOf = ({ node }: PlacedNode): string => node.metadata.name ?? '';

function avoidedTaints(pod: Pod): Score {
  const tolerations = pod.spec?.tolerations ?? [];
  return ({ node }) =>
    (node.spec?.taints ?? []).filter(
      (taint) =>
        taint.effect === 'PreferNoSchedule' &&
        !tolerations.some((toleration) => tolerates(toleration, taint)),
    ).length;
}

function nodePreference(pod: Pod): Score {
  const terms = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return ({ node }) =>
    -terms.reduce((sum, { preference, weight }) => sum + (matchesTerm(preference, node) ? weight : 0), 0);
}

function podPreference(pod: Pod, cluster: Cluster, labelsOf: NamespaceLabels): Score {
  const preferences = preferencesOf(pod).map(({ term, weight }) => ({
    topologyKey: term.topologyKey,
    weight,
    counts: countByDomain(cluster, term.topologyKey, (other) => term.matches(other, labelsOf)),
  }));
  return ({ node }) => {
    let score = 0;
    for (const { topologyKey, weight, counts } of preferences) {
      const domain = ownField(node.metadata.labels, topologyKey);
      if (domain !== undefined) score -= weight * (counts.get(domain) ?? 0);
    }
    return score;
  };
}

function siblings(pod: Pod, cluster: Cluster): Score[] {
  const owner = controllerOf(pod)?.uid;
  if (owner === undefined) return [];
  const byZone = new Map<string | undefined, number>();
  for (const { node, load } of cluster.nodes.values()) {
    const zone = node.metadata.labels?.[ZONE];
    byZone.set(zone, (byZone.get(zone) ?? 0) + load.ofOwner(owner));
  }
  return [({ load }) => load.ofOwner(owner), ({ node }) => byZone.get(node.metadata.labels?.[ZONE]) ?? 0];
}

/** The utilization of cpu, memory and pods if the pod ran on the node. */
function fullness(pod: Pod): Score {
  const requests = requestsOf(pod);
  return ({ load, allocatable }) => {
    const share = (name: string, taken: bigint): number => {
      const total = allocatable.get(name) ?? 0n;
      return total > 0n ? Number(taken) / Number(total) : 1;
    };
    const withPod = (name: string): bigint => (load.requested.get(name) ?? 0n) + (requests.get(name) ?? 0n);
    return (
      share('cpu', withPod('cpu')) +
      share('memory', withPod('memory')) +
      share('pods', BigInt(load.pods.size + 1) * ONE)
    );
  };
}
