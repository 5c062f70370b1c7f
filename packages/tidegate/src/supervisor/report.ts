/** The status of a cluster, for `tidegate status`, its JSON output, and the summary of `tidegate up`. */
import { readFile } from 'node:fs/promises';
import type { Node, Pod } from '@tidegate/kube';
import type { ChildStatus } from './child.ts';
import type { FrontDoorReport } from './front-doors.ts';
import type { PoolReport } from './pools.ts';
import type { RouteReport } from './routes.ts';
import { addressOf, type ClusterState } from './state.ts';

export interface ClusterReport {
  phase: 'starting' | 'running' | 'stopping' | 'stopped';
  state: string;
  kubeconfig: string;
  /** The process id of the supervisor and its start time (RFC 3339). */
  pid?: number;
  since?: string;
  api: { url: string; reachable: boolean };
  processes: ProcessReport[];
  nodes: NodeReport[];
  pools: PoolReport[];
  /** Empty while the API server is unreachable, like `routes`. */
  frontDoors: FrontDoorReport[];
  routes: RouteReport[];
}

export interface ProcessReport extends ChildStatus {
  memoryBytes?: number;
}

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

/** The resident memory of a process; undefined on systems without /proc. */
export async function memoryOf(pid: number | undefined): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
