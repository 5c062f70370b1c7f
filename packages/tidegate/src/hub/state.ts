import { join } from 'node:path';
import { DurableMap, lockDirectory, makeChosenDirectory } from '@tidegate/disk';
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
  close(): Promise<void>;
}

/** Locks the directory, so that only one process uses it, and opens the maps. */
export async function openState(directory: string, log: Logger): Promise<HubState> {
  makeChosenDirectory(directory, '--state');
  const unlock = await lockDirectory(directory);
  const opened: DurableMap[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((map) => map.close()));
    await unlock();
  };
  const open = async (name: string): Promise<DurableMap> => {
    const map = await DurableMap.open(join(directory, name), { log });
    opened.push(map);
    return map;
  };
  try {
    const views = await open('views');
    const memory = await open('memory');
    const journal = await open('journal');
    return { directory, views, memory, journal, tokens: await open('tokens'), close };
  } catch (error) {
    await close();
    throw error;
  }
}
