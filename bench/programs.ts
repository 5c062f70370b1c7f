import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { cpuMs, stop } from './apiserver/servers.ts';

/** One of those that are compared. */
export interface Contender {
  name: string;
  url: string;
  /** The first of its processes: what it costs is that of all below it, too. */
  pid: number;
  stop(): Promise<void>;
}

/** Where a program is; which package has it, when it is missing. */
export function program(name: string, debianPackage: string): string {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  const found = folders.map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined) throw new Error(`${name} is missing: apt-get install ${debianPackage}`);
  return found;
}

/** Runs a server until `stop`, from when it answers. */
export async function startServer(
  name: string,
  path: string,
  args: string[],
  url: string,
): Promise<Contender> {
  const child = spawn(path, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  await untilAnswering(child, name, url);
  return { name, url, pid: child.pid ?? 0, stop: () => stop(child) };
}

export async function untilAnswering(child: ChildProcess, name: string, url: string): Promise<void> {
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode}`);
    await sleep(20);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await request(url)).body.dump();
    return true;
  } catch {
    return false;
  }
}

/** Memory of a process and its children, in MiB; what they share is counted once. */
export const memoryMiB = (pid: number): number => sumOfTree(pid, proportionalMiB);

/** Processor time of a process and its children so far. */
export const processorMs = (pid: number): number => sumOfTree(pid, cpuMs);

const proportionalMiB = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024;

const sumOfTree = (pid: number, measure: (pid: number) => number): number =>
  childrenOf(pid).reduce((sum, child) => sum + sumOfTree(child, measure), measure(pid));

function childrenOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
