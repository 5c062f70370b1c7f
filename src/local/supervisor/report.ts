/** What there is to tell about a cluster: the same for `tidegate status`, its JSON, and the summary of `tidegate up`. */
import { readFile } from 'node:fs/promises';
import { L7_ROUTERS, type L7Router } from '../../api/index.ts';
import {
  INGRESSES,
  type Ingress,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Node,
  PODS,
  type Pod,
  type Resource,
} from '../../kube/index.ts';
import type { ChildStatus } from './child.ts';
import type { FrontDoorReport } from './front-doors.ts';
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
  /** None when the API server can not be asked. */
  frontDoors: FrontDoorReport[];
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

/** What a report tells of the objects in the cluster. */
export interface SeenObjects {
  pods: Pod[];
  routers: L7Router[];
  ingresses: Ingress[];
}

const ANSWER_MS = 2000;

/** Undefined when the API server does not answer. */
export async function readObjects(client: KubeClient): Promise<SeenObjects | undefined> {
  const list = async <T extends KubeObject>(resource: Resource<T>): Promise<T[]> => {
    try {
      return (await client.list(resource, { deadlineMs: ANSWER_MS })).items;
    } catch (error) {
      // The manager has yet to say that there are such things.
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  try {
    const [pods, routers, ingresses] = await Promise.all([list(PODS), list(L7_ROUTERS), list(INGRESSES)]);
    return { pods, routers, ingresses };
  } catch {
    // Whatever it is, the report says that it can not be asked; its log says why.
    return undefined;
  }
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
