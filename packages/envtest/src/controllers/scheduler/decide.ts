import type { Pod } from '@tidegate/kube';
import type { Cluster, PlacedNode } from './cluster.ts';
import { type Filter, nodeFilters } from './filters.ts';
import { podAffinityFilters } from './pod-affinity.ts';
import type { NamespaceLabels } from './pod-terms.ts';
import { explain, explainAll, type Rejection } from './rejection.ts';
import { best } from './scores.ts';
import { spreadFilters } from './topology-spread.ts';
import { claimProblem, hasClaims, type VolumeView, volumeFilter } from './volume-fit.ts';

const NO_VOLUMES: VolumeView = {
  claim: () => undefined,
  volume: () => undefined,
  storageClass: () => undefined,
};

/** The chosen node, or the message for the user. */
export type Decision = { nodeName: string } | { message: string };

/** Chooses the node for a pod, or explains why no node fits. Pure. */
export function decide(
  pod: Pod,
  cluster: Cluster,
  labelsOf: NamespaceLabels,
  volumes: VolumeView = NO_VOLUMES,
): Decision {
  const problem = claimProblem(pod, volumes);
  if (problem !== undefined) return { message: explainAll(cluster.nodes.size, problem) };
  const filters = [
    ...nodeFilters(pod),
    ...(hasClaims(pod) ? [volumeFilter(pod, volumes)] : []),
    ...spreadFilters(pod, cluster),
    ...podAffinityFilters(pod, cluster, labelsOf),
  ];
  const feasible: PlacedNode[] = [];
  const rejections: Rejection[] = [];
  for (const candidate of cluster.nodes.values()) {
    const rejection = firstRejection(filters, candidate);
    if (rejection === undefined) feasible.push(candidate);
    else rejections.push(rejection);
  }
  const nodeName = best(pod, feasible, cluster, labelsOf)?.node.metadata.name;
  return nodeName === undefined ? { message: explain(rejections) } : { nodeName };
}

function firstRejection(filters: readonly Filter[], candidate: PlacedNode): Rejection | undefined {
  for (const filter of filters) {
    const rejection = filter(candidate);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}
