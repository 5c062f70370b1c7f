/**
 * Which processes belong to a run, so that the next one can wait for those that outlived it: the children of a
 * supervisor that was killed end by themselves, but not at once.
 */
import { readFile, rm } from 'node:fs/promises';
import { sleep, systemClock } from '../../kube/clock.ts';
import { writeFileAtomically } from '../apiserver/auth/atomic-file.ts';
import { identify, isAlive, type ProcessIdentity } from '../apiserver/store/lock.ts';
import { codeOf } from './error.ts';

const PATIENCE_MS = 45_000;

export class RunningChildren {
  readonly #file: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** Written behind each other, so that the last call is what stays. */
  record(pids: number[]): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      writeFileAtomically(this.#file, JSON.stringify(await Promise.all(pids.map(identify))), 0o600);
    });
    return this.#writing;
  }

  async clear(): Promise<void> {
    await this.#writing;
    await rm(this.#file, { force: true });
  }
}

/** Waits until no process of an earlier run is left; those that do not end are ended. */
export async function awaitLeftovers(file: string, report: (line: string) => void): Promise<void> {
  let left = await alive(await recorded(file));
  if (left.length === 0) return;
  report(`waiting for ${left.length} processes of the last run to end`);
  const end = systemClock.monotonic() + PATIENCE_MS;
  while (left.length > 0) {
    if (systemClock.monotonic() > end) for (const { pid } of left) killIfThere(pid);
    await sleep(systemClock, 100);
    left = await alive(left);
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

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
