import { lockDirectory, lockOwner } from '@tidegate/disk';
import { sleep, systemClock } from '@tidegate/kube';
import { callSupervisor } from './control.ts';
import { awaitLeftovers, endContainers } from './leftovers.ts';
import { hasCluster, type StateDirectory } from './state.ts';

const POLL_MS = 20;

/** Resolves when no process of the cluster is left, including those of a killed run. False when none was running. */
export async function stopCluster(state: StateDirectory, report: (line: string) => void): Promise<boolean> {
  const answer = await callSupervisor(state, { command: 'stop' }, report);
  if (answer === undefined) await endLeftovers(state, report);
  // The supervisor has replied and is about to exit. Wait for its lock, because a new `up` needs it.
  else while ((await lockOwner(state.path)) !== undefined) await sleep(systemClock, POLL_MS);
  return answer !== undefined;
}

/** Stops what a killed supervisor left. The lock prevents that a new `up` starts at the same time. */
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
