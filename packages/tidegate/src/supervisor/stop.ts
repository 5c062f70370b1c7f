import { readFile } from 'node:fs/promises';
import { isAlive, lockDirectory, type ProcessIdentity } from '@tidegate/disk';
import { type Clock, sleep, systemClock } from '@tidegate/kube';
import { callSupervisor, ownerOf } from './control.ts';
import { SupervisorError } from './error.ts';
import { awaitLeftovers, endContainers } from './leftovers.ts';
import { hasCluster, type StateDirectory } from './state.ts';

type Report = (line: string) => void;

const POLL_MS = 20;
/** A supervisor that works accepts a request at once, also on a busy machine. */
const ACCEPT_MS = 15_000;
/** The slowest step of a stop is to end a node with its pods, which takes half a minute at most. */
const SILENCE_MS = 90_000;
/** When to say what is waited for. */
const NOTICE_MS = 10_000;
/** A supervisor that has replied, or that got a signal, has nothing left to wait for. */
const EXIT_MS = 15_000;
/** One that has not even accepted the request will not handle the signal either. */
const HUNG_EXIT_MS = 2_000;

/**
 * Resolves when no process of the cluster is left, including those of a killed run. False when none was running. What
 * it reports it has seen: the supervisor counts as stopped when its process has ended, not when it says so.
 */
export async function stopCluster(
  state: StateDirectory,
  report: Report,
  clock: Clock = systemClock,
): Promise<boolean> {
  const supervisor = await ownerOf(state);
  if (supervisor !== undefined) {
    const accepted = await askToStop(state, supervisor, report, clock);
    await untilEnded(supervisor, report, { clock, patienceMs: accepted ? EXIT_MS : HUNG_EXIT_MS });
  }
  await endLeftovers(state, report);
  return supervisor !== undefined;
}

/**
 * Returns when the supervisor has replied, or has been sent a signal because it does not respond. False if it did not even
 * accept the request.
 */
async function askToStop(
  state: StateDirectory,
  supervisor: ProcessIdentity,
  report: Report,
  clock: Clock,
): Promise<boolean> {
  const silence = new AbortController();
  const name = `the supervisor (pid ${supervisor.pid})`;
  if (await isSuspended(supervisor)) {
    report(`${name} is suspended; it continues, so that it can stop the cluster`);
    signal(supervisor, 'SIGCONT');
  }
  let accepted = false;
  let cancel = clock.after(ACCEPT_MS, () => silence.abort());
  const expectReply = (): void => {
    cancel();
    const cancels = [
      clock.after(NOTICE_MS, () =>
        report(`waiting for ${name}; it is ended if it is silent for ${SILENCE_MS / 1000} s`),
      ),
      clock.after(SILENCE_MS, () => silence.abort()),
    ];
    cancel = () => cancels.forEach((each) => void each());
  };
  try {
    await callSupervisor(
      state,
      { command: 'stop' },
      {
        onAccepted: () => {
          accepted = true;
          expectReply();
        },
        onProgress: (line) => {
          expectReply();
          report(line);
        },
        signal: silence.signal,
      },
    );
  } catch (error) {
    if (!(await isAlive(supervisor))) return accepted;
    const seconds = (accepted ? SILENCE_MS : ACCEPT_MS) / 1000;
    const why = silence.signal.aborted ? `it has been silent for ${seconds} s` : (error as Error).message;
    report(`${name} does not stop: ${why}; ending it`);
    signal(supervisor, 'SIGTERM');
  } finally {
    cancel();
  }
  return accepted;
}

/** Whether a user has stopped it with SIGSTOP or Ctrl-Z. */
async function isSuspended({ pid }: ProcessIdentity): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name of the program in parentheses may contain anything.
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

async function untilEnded(
  supervisor: ProcessIdentity,
  report: Report,
  { clock, patienceMs }: { clock: Clock; patienceMs: number },
): Promise<void> {
  const end = clock.monotonic() + patienceMs;
  let killed = false;
  while (await isAlive(supervisor)) {
    if (!killed && clock.monotonic() > end) {
      killed = true;
      report(`the supervisor (pid ${supervisor.pid}) did not exit in time and was killed`);
      signal(supervisor, 'SIGKILL');
    }
    await sleep(clock, POLL_MS);
  }
}

function signal({ pid }: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // It has ended in the meantime.
    if (code === 'ESRCH') return;
    throw new SupervisorError(`cannot stop the supervisor (pid ${pid}): ${message}`, { cause });
  }
}

/** Stops what a killed supervisor left. The lock prevents that a new `up` starts at the same time. */
async function endLeftovers(state: StateDirectory, report: Report): Promise<void> {
  if (!(await hasCluster(state))) return;
  const unlock = await lockDirectory(state.path);
  try {
    await awaitLeftovers(state.childrenFile, report);
    await endContainers(state.nodes, report);
  } finally {
    await unlock();
  }
}
