/** What there is to tell about a cluster: the same for `tidegate status`, its JSON, and the summary of `tidegate up`. */
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
  /** Who runs it, and since when (RFC 3339). */
  pid?: number;
  since?: string;
  api: { url: string; reachable: boolean };
  processes: ProcessReport[];
  nodes: NodeReport[];
  pools: PoolReport[];
  /** None while the API server can not be asked, and no routes either. */
  frontDoors: FrontDoorReport[];
  routes: RouteReport[];
}

export interface ProcessReport extends ChildStatus {
  memoryBytes?: number;
}

export interface NodeReport {
  name: string;
  /** The status of its Ready condition as the API server last told it. */
  ready: 'True' | 'False' | 'Unknown';
  address: string;
  link: 'up' | 'cut';
  /** Absent when the API server can not be asked. */
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

/** How many pods each node has. */
function podCounts(pods: readonly Pod[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { spec } of pods) {
    const name = spec?.nodeName;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** The memory of a process that only it has and that is in RAM; undefined where there is no /proc. */
export async function memoryOf(pid: number | undefined): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
