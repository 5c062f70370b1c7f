import { join } from 'node:path';
import { DurableMap, lockDirectory, makeChosenDirectory } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';

/** What the hub keeps on disk. */
export interface HubState {
  directory: string;
  views: DurableMap;
  /** Who may do what, keys of the cluster, documents of discovery. */
  memory: DurableMap;
  journal: DurableMap;
  tokens: DurableMap;
  close(): Promise<void>;
}

/** Held by this process alone. */
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
