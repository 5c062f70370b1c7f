/**
 * A power failure of a node, and the restart after it.
 *
 * A killed agent leaves its pods running, and the next agent adopts them. A power failure ends all processes, and what
 * the node keeps in memory is gone: as on other nodes, the network of each pod is set up again, with another address.
 * A file marks the failure until an agent has taken it into account.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exited, type PodRecord } from '../pods/record.ts';
import { processesBelow, signalOne } from '../proc/index.ts';
import { podsDirectory } from './records.ts';

const markOf = (stateDirectory: string): string => join(stateDirectory, 'power-failed');

/**
 * Kills the containers of a node. Call it when the agent of the node has been killed, with `endAgent`: the mark must exist
 * before the next agent can start.
 */
export function failPower(stateDirectory: string, endAgent: () => void): void {
  writeFileSync(markOf(stateDirectory), '', { mode: 0o600 });
  endAgent();
  killContainers(stateDirectory);
}

/** Whether the power of the node has failed since the last agent ran. */
export const hasPowerFailed = (stateDirectory: string): boolean => existsSync(markOf(stateDirectory));

/** Removes the mark. Call it when nothing that the failure has ended is on record any more. */
export const forgetPowerFailure = (stateDirectory: string): void =>
  rmSync(markOf(stateDirectory), { force: true });

/** Also ends processes that an agent started in its last moment. */
export function killContainers(stateDirectory: string): void {
  for (const { pid } of processesBelow(podsDirectory(stateDirectory))) signalOne(pid, 'SIGKILL');
}

/** The record of a pod after the failure: no container runs, and the pod has no address. That was not a crash. */
export function afterPowerFailure({ podIP: _, ...record }: PodRecord, now: number): PodRecord {
  const containers = Object.entries(record.containers).map(([name, container]) => [
    name,
    exited(container, {}, now, true),
  ]);
  return { ...record, containers: Object.fromEntries(containers) };
}
