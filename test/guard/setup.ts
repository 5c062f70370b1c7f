import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { repositoryFile } from '../support/repository.ts';

/** A process that was still running after the tests. */
interface Leak {
  pid: number;
  parent: number;
  command: string;
}

/** One guard per process. Vitest calls the set-up for every project, each time with new modules. */
const GUARD = Symbol.for('tidegate.test-guard');
const shared = globalThis as { [GUARD]?: boolean };

/**
 * Ensures that nothing outlives this test run: neither processes nor files, however the run ends.
 *
 * All temporary files of the run go into one directory: `TMPDIR` of this process and its children. A watchdog in a
 * session of its own waits for the end of this process and of the npm that started it. Then it kills every process
 * that belongs to the directory, and removes the directory.
 *
 * Returns a function for the regular end of the run. It resolves when everything has ended, to the processes that had
 * to be killed. Returns undefined if this process already has a guard.
 */
export function startGuard(): (() => Promise<Leak[]>) | undefined {
  if (shared[GUARD]) return undefined;
  shared[GUARD] = true;
  const before = process.env.TMPDIR;
  // The name is short, because the path of a Unix socket has at most 107 characters.
  const directory = mkdtempSync(join(tmpdir(), 'tg-'));
  // Workers of nginx run as another user. They must reach their own directories in it.
  chmodSync(directory, 0o711);
  const watchdog = spawn(
    process.execPath,
    [repositoryFile('test/guard/watchdog.js'), directory, String(process.pid)],
    { stdio: ['pipe', 'pipe', 'inherit'], detached: true, cwd: '/' },
  );
  keepAlive(watchdog, false);
  process.env.TMPDIR = directory;
  return async () => {
    keepAlive(watchdog, true);
    const leaks = await finish(watchdog);
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    shared[GUARD] = false;
    return leaks;
  };
}

/** Whether this process waits for the watchdog before it exits. */
function keepAlive(watchdog: ChildProcess, yes: boolean): void {
  const handles = [watchdog, watchdog.stdin, watchdog.stdout] as unknown as NodeJS.RefCounted[];
  for (const handle of handles) yes ? handle.ref() : handle.unref();
}

function finish(watchdog: ChildProcess): Promise<Leak[]> {
  return new Promise((resolve, reject) => {
    let answer = '';
    watchdog.stdout?.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    const ended = (code: number | null, signal: NodeJS.Signals | null): void =>
      reject(new Error(`the watchdog of the test run ended with ${signal ?? `exit code ${code}`}`));
    if (watchdog.exitCode !== null || watchdog.signalCode !== null)
      return ended(watchdog.exitCode, watchdog.signalCode);
    watchdog.once('error', reject);
    watchdog.stdin?.once('error', reject);
    watchdog.once('close', (code, signal) => {
      if (code === 0) resolve(JSON.parse(answer) as Leak[]);
      else ended(code, signal);
    });
    watchdog.stdin?.write('\n');
  });
}

/** The global set-up of Vitest. A run whose tests leave processes behind fails, and lists them. */
export default function setup(project: TestProject): (() => Promise<void>) | undefined {
  const end = startGuard();
  noteDirectory(project.tmpDir);
  if (end === undefined) return undefined;
  return async () => {
    try {
      const leaks = await end();
      if (leaks.length === 0) return;
      const list = leaks.map(({ pid, parent, command }) => `  ${pid} (parent ${parent}): ${command}`);
      console.error(`Tests left these processes behind. They were killed:\n${list.join('\n')}`);
    } catch (error) {
      console.error(error);
    }
    // Vitest only logs errors of the teardown.
    process.exitCode = 1;
  };
}

/** Vitest chose its own temporary directory before the set-up, outside that of the run. The watchdog removes it too. */
function noteDirectory(path: string): void {
  const notes = join(tmpdir(), 'directories');
  mkdirSync(notes, { recursive: true });
  writeFileSync(join(notes, basename(path)), path);
}
