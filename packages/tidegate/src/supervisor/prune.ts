import { readdir, rm } from 'node:fs/promises';
import { isNotFound, type KubeClient, NODES } from '@tidegate/kube';
import { codeOf } from './error.ts';
import { endContainers } from './leftovers.ts';
import type { ClusterState, StateDirectory } from './state.ts';

export interface PruneOptions {
  state: StateDirectory;
  cluster: ClusterState;
  /** Merge patches for labels that an earlier layout set and this one changes or removes. */
  relabeled: ReadonlyMap<string, Record<string, string | null>>;
  report(line: string): void;
  signal: AbortSignal;
}

/** Removes what an earlier layout left in the API: Nodes that are no longer in the layout, and old labels. */
export async function pruneLayout(client: KubeClient, options: PruneOptions): Promise<void> {
  const { state, cluster, relabeled, report, signal } = options;
  const wanted = new Set(cluster.nodes.map(({ name }) => name));
  // Every node has a directory until it has been removed completely, so an interrupted removal is completed here.
  for (const name of (await entries(state.nodes)).filter((entry) => !wanted.has(entry))) {
    await ignoringAbsence(client.delete(NODES, { name }, { signal }));
    await endContainers(state.node(name), report);
    await rm(state.node(name), { recursive: true, force: true });
    report(`removed node ${name}`);
  }
  for (const [name, labels] of relabeled) {
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
