import { join } from 'node:path';
import { DurableMap, type DurableMapOptions, lockDirectory, makeChosenDirectory } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';

/** What the hub keeps on disk, so that it can restart while no API server is reachable. */
export interface HubState {
  directory: string;
  /** Copies of what clients have listed and watched. */
  views: DurableMap;
  /** Access decisions, token decisions, signing keys of the cluster, and discovery documents. */
  memory: DurableMap;
  /** Writes of the node that no API server has received yet. */
  journal: DurableMap;
  /** Service account tokens that the API server issued to pods of the node. */
  tokens: DurableMap;
  /** What the disk refuses at the moment, and what that means; empty if it accepts everything. */
  warnings(): string[];
  close(): Promise<void>;
}

const CONSEQUENCE =
  'reads and writes work while an API server is reachable; writes that need the journal are refused, and a restart without an API server would serve older copies';

/** Locks the directory, so that only one process uses it, and opens the maps. */
export async function openState(directory: string, log: Logger): Promise<HubState> {
  makeChosenDirectory(directory, '--state');
  const unlock = await lockDirectory(directory);
  const opened: DurableMap[] = [];
  const close = async (): Promise<void> => {
    // A map on a full disk fails to store its last changes. The others are closed, and the lock is released.
    const outcomes = await Promise.allSettled(opened.map((map) => map.close()));
    await unlock();
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  const warnings = (): string[] => {
    const trouble = opened.map((map) => map.trouble).find((error) => error !== undefined);
    return trouble === undefined ? [] : [`${trouble.message} (${CONSEQUENCE})`];
  };
  const open = async (name: string, options: DurableMapOptions = {}): Promise<DurableMap> => {
    const map = await DurableMap.open(join(directory, name), { log, ...options });
    opened.push(map);
    return map;
  };
  try {
    const views = await open('views');
    const memory = await open('memory');
    const journal = await open('journal', { refusedPuts: 'undo' });
    return { directory, views, memory, journal, tokens: await open('tokens'), warnings, close };
  } catch (error) {
    await close();
    throw error;
  }
}
