import { readdir, rm } from 'node:fs/promises';
import { isNotFound, type KubeClient, NODES } from '@tidegate/kube';
import { codeOf } from './error.ts';
import { endContainers } from './leftovers.ts';
import type { ClusterState, StateDirectory } from './state.ts';

export interface SettleOptions {
  state: StateDirectory;
  cluster: ClusterState;
  /** Labels that an earlier layout gave and this one does not, or gives otherwise, as merge patches. */
  relabelled: ReadonlyMap<string, Record<string, string | null>>;
  report(line: string): void;
  signal: AbortSignal;
}

/** Takes back what an earlier layout left in the API: Nodes that are no longer wanted, labels that are other ones now. */
export async function settleLayout(client: KubeClient, options: SettleOptions): Promise<void> {
  const { state, cluster, relabelled, report, signal } = options;
  const wanted = new Set(cluster.nodes.map(({ name }) => name));
  // Every node that ever was has a directory, until it has been taken back completely.
  for (const name of (await entries(state.nodes)).filter((entry) => !wanted.has(entry))) {
    await ignoringAbsence(client.delete(NODES, { name }, { signal }));
    await endContainers(state.node(name), report);
    await rm(state.node(name), { recursive: true, force: true });
    report(`removed ${name}`);
  }
  for (const [name, labels] of relabelled) {
    await ignoringAbsence(client.patch(NODES, { name }, 'merge', { metadata: { labels } }, { signal }));
  }
}

async function entries(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function ignoringAbsence(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
