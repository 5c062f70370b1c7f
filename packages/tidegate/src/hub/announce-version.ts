import { type Clock, type KubeClient, type Logger, NODES, sleep } from '@tidegate/kube';
import { HUB_VERSION_ANNOTATION } from '../api/index.ts';

const RETRY_MS = 30_000;

export interface AnnounceOptions {
  client: KubeClient;
  nodeName: string;
  version: string;
  clock: Clock;
  log: Logger;
}

/**
 * Writes the version of the hub to its Node, once. `tidegate check` compares it with the version of the manager, and
 * `tidegate uninstall` sees that the node depends on a hub. Tries again while there is no link or no Node yet.
 */
export async function announceVersion(
  { client, nodeName, version, clock, log }: AnnounceOptions,
  signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { annotations: { [HUB_VERSION_ANNOTATION]: version } } };
  while (!signal.aborted) {
    try {
      await client.patch(NODES, { name: nodeName }, 'merge', patch, { signal });
      return;
    } catch (err) {
      if (signal.aborted) return;
      log.debug({ err }, 'cannot write the version of the hub to the node yet');
    }
    // Rejects only if the hub stops.
    await sleep(clock, RETRY_MS, signal).catch(() => {});
  }
}
