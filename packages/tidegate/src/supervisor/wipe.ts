import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lockDirectory, quotePath } from '@tidegate/disk';
import { SupervisorError } from './error.ts';
import { hasCluster, isStateFile, type StateDirectory } from './state.ts';

/** Removes the state of a stopped cluster. Returns the names of files that tidegate did not create, which remain. */
export async function wipeState(state: StateDirectory): Promise<string[]> {
  if (!(await hasCluster(state))) {
    throw new SupervisorError(
      `${quotePath(state.path)} has no cluster.json, so it is not a tidegate state directory; nothing was removed`,
    );
  }
  await lockDirectory(state.path);
  // cluster.json goes last, so that an interrupted wipe still leaves a recognizable state directory.
  const ours = (await readdir(state.path)).filter((name) => isStateFile(name) && name !== 'cluster.json');
  for (const name of [...ours, 'cluster.json'])
    await rm(join(state.path, name), { recursive: true, force: true });
  const left = await readdir(state.path);
  if (left.length === 0) await rmdir(state.path);
  return left;
}
