import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Clock } from '@tidegate/kube';
import type { Exit, ProcessHandle } from '../pods/record.ts';
import type { Process } from '../pods/runtime.ts';
import { startTicksOf } from './proc.ts';

export interface Command {
  command: string[];
  env: Record<string, string>;
  cwd: string;
  /** Open for appending: stdout and stderr go there, whether an agent is there or not. */
  output: number;
}

/** A process with a group of its own, that outlives the agent. Rejects when there is no such program. */
export function launch({ command, env, cwd, output }: Command): Promise<Process> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', output, output] });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      // A container ends with its first process: what that leaves behind goes, too.
      signalGroup(child.pid!, 'SIGKILL');
      resolve(code === null ? { signal: constants.signals[signal!] } : { code });
    });
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      const pid = child.pid!;
      // It may have ended already: then it is nobody's any more, and the exit follows.
      const handle = { pid, startTicks: startTicksOf(pid) ?? '' };
      resolve({ handle, exited, signal: (signal) => signalProcess(handle, signal) });
    });
  });
}

const WATCH_MS = 500;

/** The process that an earlier agent started. It is not our child: its end is noticed by looking, its exit code never. */
export function follow(handle: ProcessHandle, clock: Clock): (Process & { leave(): void }) | undefined {
  if (!isAlive(handle)) return undefined;
  let leave: () => void = () => {};
  const exited = new Promise<Exit>((resolve) => {
    const look = (): void => {
      if (isAlive(handle)) leave = clock.after(WATCH_MS, look);
      else {
        signalGroup(handle.pid, 'SIGKILL');
        resolve({});
      }
    };
    look();
  });
  return { handle, exited, signal: (signal) => signalProcess(handle, signal), leave: () => leave() };
}

const isAlive = ({ pid, startTicks }: ProcessHandle): boolean => startTicksOf(pid) === startTicks;

/**
 * Never reaches a stranger that was given the same number since. As in any container, the request to end is for the first
 * process, which knows how to end the others; the end by force is for all.
 */
function signalProcess(handle: ProcessHandle, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (!isAlive(handle)) return;
  if (signal === 'SIGKILL') signalGroup(handle.pid, signal);
  else signalOne(handle.pid, signal);
}

const signalGroup = (leader: number, signal: NodeJS.Signals): void => signalOne(-leader, signal);

/** One process; a negative number is a group of them. */
export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // All have ended: nothing to do.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
