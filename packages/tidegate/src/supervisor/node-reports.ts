/** The nodes of the layout as `tidegate status` shows them. */
import type { Node, Pod } from '@tidegate/kube';
import { addressOf, type ClusterState } from './state.ts';

export interface NodeReport {
  name: string;
  /** The status of the Ready condition as last seen in the API server. */
  ready: 'True' | 'False' | 'Unknown';
  address: string;
  link: 'up' | 'cut';
  /** Absent when the API server is unreachable. */
  pods?: number;
  labels: Record<string, string>;
}

export function nodeReports(
  cluster: ClusterState,
  nodes: ReadonlyMap<string, Node>,
  pods: readonly Pod[] | undefined,
): NodeReport[] {
  const counts = pods === undefined ? undefined : podCounts(pods);
  return cluster.nodes.map((node) => ({
    name: node.name,
    ready: readinessOf(nodes.get(node.name)),
    address: addressOf(cluster, node),
    link: node.cut ? 'cut' : 'up',
    pods: counts === undefined ? undefined : (counts.get(node.name) ?? 0),
    labels: nodes.get(node.name)?.metadata.labels ?? node.labels,
  }));
}

/** A missing Ready condition counts as Unknown. */
export function readinessOf(node: Node | undefined): NodeReport['ready'] {
  const status = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return status === 'True' || status === 'False' ? status : 'Unknown';
}

/** The number of pods on each node. */
function podCounts(pods: readonly Pod[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { spec } of pods) {
    const name = spec?.nodeName;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
