import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lockDirectory } from '@tidegate/disk';
import { SupervisorError } from './error.ts';
import { hasCluster, isOurs, type StateDirectory } from './state.ts';

/** Removes what tidegate keeps of a cluster that was stopped; returns the names of what is not its own and stays. */
export async function wipeState(state: StateDirectory): Promise<string[]> {
  if (!(await hasCluster(state))) {
    throw new SupervisorError(
      `${state.path} has no cluster.json, so it is not a state directory; nothing was removed`,
    );
  }
  await lockDirectory(state.path);
  // cluster.json last: what a crash leaves half removed is still known to be ours.
  const ours = (await readdir(state.path)).filter((name) => isOurs(name) && name !== 'cluster.json');
  for (const name of [...ours, 'cluster.json'])
    await rm(join(state.path, name), { recursive: true, force: true });
  const left = await readdir(state.path);
  if (left.length === 0) await rmdir(state.path);
  return left;
}
