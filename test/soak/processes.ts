/** The processes of a cluster, and how to kill them. */
import { readdir, readFile } from 'node:fs/promises';
import { isErrno } from '@tidegate/disk';
import { crashDelay } from '@tidegate/envtest/node';
import type { Pod } from '@tidegate/kube';
import type { Cluster } from '../support/cluster.ts';

export class Processes {
  readonly #cluster: Cluster;
  /** How often each pod's process was killed; the restart delay grows with it. */
  readonly #crashes = new Map<string, number>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Undefined while it is not running. */
  async ofPod(pod: Pod): Promise<number | undefined> {
    try {
      const pid = await this.#cluster.processOf(pod);
      return (await isRunning(pid)) ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  /** The address of the pod on its node. Undefined if it has none. */
  async addressOf(pod: Pod): Promise<string | undefined> {
    return this.#cluster.addressOf(pod).catch(() => undefined);
  }

  crashesOf({ metadata }: Pod): number {
    return this.#crashes.get(metadata.uid ?? '') ?? 0;
  }

  /** Returns the delay of its restart in seconds. */
  killPod(pod: Pod, pid: number): number {
    const crashes = this.crashesOf(pod) + 1;
    this.#crashes.set(pod.metadata.uid ?? '', crashes);
    kill(pid);
    return crashDelay(crashes) / 1000;
  }
}

/** False when the process has already exited. */
export function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false;
    throw error;
  }
}

export async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(pids.map(parentOf));
  return pids.filter((_, i) => parents[i] === parent);
}

async function parentOf(pid: number): Promise<number | undefined> {
  const fields = await statOf(pid);
  return fields === undefined ? undefined : Number(fields[1]);
}

export async function isRunning(pid: number): Promise<boolean> {
  const state = (await statOf(pid))?.[0];
  return state !== undefined && state !== 'Z';
}

/** The fields of `/proc/PID/stat` after the name, which may contain spaces: state, parent, and so on. */
async function statOf(pid: number): Promise<string[] | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
