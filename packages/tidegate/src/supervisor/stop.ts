import { lockDirectory, lockOwner } from '@tidegate/disk';
import { sleep, systemClock } from '@tidegate/kube';
import { askSupervisor } from './control.ts';
import { awaitLeftovers, endContainers } from './leftovers.ts';
import { hasCluster, type StateDirectory } from './state.ts';

const LOOK_MS = 20;

/** When it resolves, no process of the cluster is left, not even of a run that was killed. False when none was running. */
export async function stopCluster(state: StateDirectory, report: (line: string) => void): Promise<boolean> {
  const answer = await askSupervisor(state, { command: 'stop' }, report);
  if (answer === undefined) await endLeftovers(state, report);
  // The supervisor has answered, and is about to end: only then may another one start.
  else while ((await lockOwner(state.path)) !== undefined) await sleep(systemClock, LOOK_MS);
  return answer !== undefined;
}

async function endLeftovers(state: StateDirectory, report: (line: string) => void): Promise<void> {
  if (!(await hasCluster(state))) return;
  const unlock = await lockDirectory(state.path);
  try {
    await awaitLeftovers(state.childrenFile, report);
    await endContainers(state.nodes, report);
  } finally {
    await unlock();
  }
}
