/**
 * Processes that outlived a run.
 *
 * The children of a killed supervisor exit by themselves, because their IPC channel closes, but not immediately. The
 * containers of a killed node agent keep running on purpose: the next agent of that node adopts them. They have to
 * be stopped here when no such agent will start.
 */
import { readFile, rm } from 'node:fs/promises';
import { identify, isAlive, type ProcessIdentity, writeFileAtomically } from '@tidegate/disk';
import { processesBelow, signalOne } from '@tidegate/envtest/node';
import { Serial, sleep, systemClock } from '@tidegate/kube';
import { codeOf } from './error.ts';

type Report = (line: string) => void;

const LEFTOVER_TIMEOUT_MS = 45_000;
const CONTAINER_GRACE_MS = 10_000;
const POLL_MS = 100;

/**
 * The record of the running children. A process is identified by pid and start time, so a reused pid is never
 * mistaken for a child.
 */
export class RunningChildren {
  readonly #file: string;
  readonly #writes = new Serial();

  constructor(file: string) {
    this.#file = file;
  }

  /** Writes are serialized, so that the record of the last call remains. */
  record(pids: number[]): Promise<void> {
    return this.#writes.run(async () => {
      writeFileAtomically(this.#file, JSON.stringify(await Promise.all(pids.map(identify))), 0o600);
    });
  }

  async clear(): Promise<void> {
    await this.#writes.idle();
    await rm(this.#file, { force: true });
  }
}

/** Waits until every process recorded by an earlier run has exited; kills those that do not exit in time. */
export async function awaitLeftovers(file: string, report: Report): Promise<void> {
  let left = await alive(await recorded(file));
  if (left.length === 0) return;
  report(`waiting for ${left.length} processes of the previous run to exit`);
  const end = systemClock.monotonic() + LEFTOVER_TIMEOUT_MS;
  while (left.length > 0) {
    if (systemClock.monotonic() > end) signalAll(left, 'SIGKILL');
    await sleep(systemClock, POLL_MS);
    left = await alive(left);
  }
}

/** Stops the containers below a directory whose node agent is not running. */
export async function endContainers(
  directory: string,
  report: Report,
  graceMs = CONTAINER_GRACE_MS,
): Promise<void> {
  let left = processesBelow(directory);
  if (left.length === 0) return;
  report(`stopping ${left.length} pod processes that outlived their node agents`);
  signalAll(left, 'SIGTERM');
  const end = systemClock.monotonic() + graceMs;
  while (left.length > 0) {
    await sleep(systemClock, POLL_MS);
    left = processesBelow(directory);
    if (systemClock.monotonic() > end) signalAll(left, 'SIGKILL');
  }
}

async function recorded(file: string): Promise<ProcessIdentity[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessIdentity[];
  } catch (error) {
    // A power failure can leave a truncated file, but it has also ended the recorded processes.
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return [];
    throw error;
  }
}

/** The processes that are still running. A process with the same pid but another start time is not one of them. */
async function alive(processes: ProcessIdentity[]): Promise<ProcessIdentity[]> {
  const living = await Promise.all(processes.map(isAlive));
  return processes.filter((_, i) => living[i]);
}

function signalAll(processes: { pid: number }[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) signalOne(pid, signal);
}
