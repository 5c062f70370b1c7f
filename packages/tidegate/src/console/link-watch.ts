import { type Clock, sleep } from '@tidegate/kube';
import { readCluster, type StateDirectory } from '../supervisor/index.ts';
import type { Feed } from './feed.ts';

/** A small file, so reading it often costs next to nothing, and no watch of a file system has to be trusted. */
const INTERVAL_MS = 500;

/**
 * Which links of the embedded cluster are cut, from its state directory. The API server notices a cut only when nodes have not reported
 * for a while.
 */
export async function watchLinks(
  state: StateDirectory,
  feed: Feed,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let known = new Set<string>();
  while (!signal.aborted) {
    // A file that is being replaced, or a cluster that is being removed: the next look finds what is there then.
    const cluster = await readCluster(state).catch(() => undefined);
    if (cluster !== undefined) {
      const names = new Set(cluster.nodes.map(({ name }) => name));
      for (const { name, cut } of cluster.nodes) feed.put({ kind: 'Link', key: name, cut });
      for (const name of known) if (!names.has(name)) feed.drop({ kind: 'Link', key: name });
      known = names;
    }
    await sleep(clock, INTERVAL_MS, signal).catch(() => {});
  }
}
