import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Clock } from '@tidegate/kube';
import type { Exit, ProcessHandle } from '../pods/record.ts';
import type { Process } from '../pods/runtime.ts';
import { startTicksOf } from './proc.ts';

/** A process to start. */
export interface Command {
  command: string[];
  env: Record<string, string>;
  cwd: string;
  /** A file descriptor opened for appending. It receives stdout and stderr, whether an agent is running or not. */
  output: number;
}

/** Starts a process in its own process group that outlives the agent. Rejects when the program does not exist. */
export function launch({ command, env, cwd, output }: Command): Promise<Process> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', output, output] });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      // A container ends with its first process, so kill the processes it leaves behind.
      signalGroup(child.pid!, 'SIGKILL');
      resolve(code === null ? { signal: constants.signals[signal!] } : { code });
    });
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      const pid = child.pid!;
      // If the process has already ended, the empty start time matches no process, and the exit event follows.
      const handle = { pid, startTicks: startTicksOf(pid) ?? '' };
      resolve({ handle, exited, signal: (signal) => signalProcess(handle, signal) });
    });
  });
}

const WATCH_MS = 500;

/**
 * Watches a process that an earlier agent started. It is not a child of this agent, so its end is detected by
 * polling, and its exit code is unknown.
 */
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

/** The start time guards against a reused pid. */
const isAlive = ({ pid, startTicks }: ProcessHandle): boolean => startTicksOf(pid) === startTicks;

/**
 * Never signals another process that has received the same pid since. As in any container, SIGTERM goes to the first
 * process, which knows how to stop the others; SIGKILL goes to the whole group.
 */
function signalProcess(handle: ProcessHandle, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (!isAlive(handle)) return;
  if (signal === 'SIGKILL') signalGroup(handle.pid, signal);
  else signalOne(handle.pid, signal);
}

const signalGroup = (leader: number, signal: NodeJS.Signals): void => signalOne(-leader, signal);

/** Signals a process, or a process group if the number is negative. */
export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // All processes have already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
