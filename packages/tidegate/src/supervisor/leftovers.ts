/**
 * Which processes outlived a run. The children of a supervisor that was killed end by themselves, but not at once. The
 * containers of a node that was killed do not end at all: the next run of that node takes them over, if there is one.
 */
import { readFile, rm } from 'node:fs/promises';
import { identify, isAlive, type ProcessIdentity, writeFileAtomically } from '@tidegate/disk';
import { processesBelow, signalOne } from '@tidegate/envtest/node';
import { Serial, sleep, systemClock } from '@tidegate/kube';
import { codeOf } from './error.ts';

type Report = (line: string) => void;

const PATIENCE_MS = 45_000;
const CONTAINER_GRACE_MS = 10_000;
const LOOK_MS = 100;

export class RunningChildren {
  readonly #file: string;
  readonly #writes = new Serial();

  constructor(file: string) {
    this.#file = file;
  }

  /** Written behind each other, so that the last call is what stays. */
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

/** Waits until no process of an earlier run is left; those that do not end are ended. */
export async function awaitLeftovers(file: string, report: Report): Promise<void> {
  let left = await alive(await recorded(file));
  if (left.length === 0) return;
  report(`waiting for ${left.length} processes of the last run to end`);
  const end = systemClock.monotonic() + PATIENCE_MS;
  while (left.length > 0) {
    if (systemClock.monotonic() > end) signalAll(left, 'SIGKILL');
    await sleep(systemClock, LOOK_MS);
    left = await alive(left);
  }
}

/** Ends the containers below a directory whose node is not there to do it. */
export async function endContainers(
  directory: string,
  report: Report,
  graceMs = CONTAINER_GRACE_MS,
): Promise<void> {
  let left = processesBelow(directory);
  if (left.length === 0) return;
  report(`ending ${left.length} processes of pods that outlived their nodes`);
  signalAll(left, 'SIGTERM');
  const end = systemClock.monotonic() + graceMs;
  while (left.length > 0) {
    await sleep(systemClock, LOOK_MS);
    left = processesBelow(directory);
    if (systemClock.monotonic() > end) signalAll(left, 'SIGKILL');
  }
}

async function recorded(file: string): Promise<ProcessIdentity[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessIdentity[];
  } catch (error) {
    // A file that a power cut left half written tells of processes that the power cut ended.
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return [];
    throw error;
  }
}

async function alive(processes: ProcessIdentity[]): Promise<ProcessIdentity[]> {
  const living = await Promise.all(processes.map(isAlive));
  return processes.filter((_, i) => living[i]);
}

function signalAll(processes: { pid: number }[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) signalOne(pid, signal);
}
