/** What there is to tell about a cluster: the same for `tidegate status`, its JSON, and the summary of `tidegate up`. */
import { readFile } from 'node:fs/promises';
import { type KubeClient, type Node, PODS, type Pod } from '../../kube/index.ts';
import type { ChildStatus } from './child.ts';
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
  pods: ReadonlyMap<string, number> | undefined,
): NodeReport[] {
  return cluster.nodes.map((node) => ({
    name: node.name,
    ready: readinessOf(nodes.get(node.name)),
    address: addressOf(cluster, node),
    link: node.cut ? 'cut' : 'up',
    pods: pods === undefined ? undefined : (pods.get(node.name) ?? 0),
    labels: nodes.get(node.name)?.metadata.labels ?? node.labels,
  }));
}

export function readinessOf(node: Node | undefined): NodeReport['ready'] {
  const status = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return status === 'True' || status === 'False' ? status : 'Unknown';
}

const ANSWER_MS = 2000;

/** How many pods each node has; undefined when the API server does not answer. */
export async function podCounts(client: KubeClient): Promise<Map<string, number> | undefined> {
  const pods = await client.list<Pod>(PODS, { deadlineMs: ANSWER_MS }).catch(() => undefined);
  if (pods === undefined) return undefined;
  const counts = new Map<string, number>();
  for (const { spec } of pods.items) {
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
