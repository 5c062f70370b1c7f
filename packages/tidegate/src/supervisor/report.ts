/** The status of a cluster, for `tidegate status`, its JSON output, and the summary of `tidegate up`. */
import { readFile } from 'node:fs/promises';
import type { ChildStatus } from './child.ts';
import type { FrontDoorReport } from './front-doors.ts';
import type { NodeReport } from './node-reports.ts';
import type { PoolReport } from './pools.ts';
import type { RouteReport } from './routes.ts';

export interface ClusterReport {
  phase: 'starting' | 'running' | 'stopping' | 'stopped';
  /** The state directory of the cluster, see `--state`. */
  stateDirectory: string;
  kubeconfig: string;
  /** The process id of the supervisor and its start time (RFC 3339). */
  pid?: number;
  since?: string;
  api: { url: string; reachable: boolean };
  /** What does not work at the moment, for example because the disk is full; empty if everything does. */
  warnings: string[];
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
