import { type ChildProcess, fork, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';

/** A server in a child process. `startMs` is the time until it served requests. */
export interface RunningServer {
  url: string;
  kubeconfig: string;
  pid: number;
  startMs: number;
  stop(): Promise<void>;
}

/** Starts `tidegate apiserver` as a user would, and waits for its kubeconfig. */
export async function startTidegate(directory: string): Promise<RunningServer> {
  const kubeconfig = join(directory, `kubeconfig-${process.hrtime.bigint()}`);
  const program = new URL('../../bin/tidegate', import.meta.url).pathname;
  const started = performance.now();
  const args = ['apiserver', '--state', join(directory, 'data'), '--port', '0', '--kubeconfig', kubeconfig];
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  endWithParent(child);
  while (!existsSync(kubeconfig)) {
    if (child.exitCode !== null) throw new Error(`tidegate apiserver ended with code ${child.exitCode}`);
    await sleep(2);
  }
  const startMs = performance.now() - started;
  const url = /server: "(.*)"/.exec(readFileSync(kubeconfig, 'utf8'))?.[1] ?? '';
  return { url, kubeconfig, pid: child.pid ?? 0, startMs, stop: () => stop(child) };
}

/** Servers do not end with the program that started them, for example after Ctrl-C. */
export function endWithParent(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}

/** Starts the reference server with the certificate of an API server that ran in the same directory. */
export async function startBare(directory: string): Promise<Omit<RunningServer, 'kubeconfig'>> {
  const pki = join(directory, 'data', 'pki');
  const files = ['apiserver.crt', 'apiserver.key', 'ca.crt'].map((file) => join(pki, file));
  const child = fork(new URL(import.meta.url).pathname.replace(/[^/]*$/, 'main.js'), [
    'bare-server',
    ...files,
  ]);
  const port = await new Promise<number>((resolve) => child.once('message', (p) => resolve(Number(p))));
  return { url: `https://127.0.0.1:${port}`, pid: child.pid ?? 0, startMs: 0, stop: () => stop(child) };
}

export function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

/** The client certificate of the administrator, and the CA of the server. */
export interface Credentials {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
}

export function credentials(directory: string): Credentials {
  const read = (file: string): Buffer => readFileSync(join(directory, 'data', 'pki', file));
  return { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
}

/** Connections of the administrator. */
export function connect(directory: string, connections: number): Agent {
  return new Agent({
    connections,
    pipelining: 1,
    bodyTimeout: 0,
    headersTimeout: 0,
    connect: { ...credentials(directory) },
  });
}

/** Resident memory of a process, in MiB. */
export function residentMiB(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(line?.[1] ?? 0) / 1024);
}

/** Processor time of all threads so far, in milliseconds. The kernel counts in nanoseconds. */
export function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + threadNs(pid, thread), 0) / 1e6;
}

/** A thread that has ended counts nothing; servers keep theirs. */
function threadNs(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}
