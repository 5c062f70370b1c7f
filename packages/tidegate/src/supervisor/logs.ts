import { appendFileSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Reporter } from './report.ts';

/** Renames the logs of the previous run to `*.log.1`, so that every run starts with new files. */
export async function rotateLogs(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const files = (await readdir(directory)).filter((name) => name.endsWith('.log'));
  await Promise.all(files.map((name) => rename(join(directory, name), join(directory, `${name}.1`))));
}

const INFO = 30;
const WARN = 40;

/** Keeps what the supervisor reports in a log as well, in the format of the other logs. */
export function supervisorLog(directory: string): Reporter {
  const write =
    (level: number) =>
    (msg: string): void => {
      try {
        const line = JSON.stringify({ level, time: Date.now(), pid: process.pid, msg });
        appendFileSync(join(directory, 'supervisor.log'), `${line}\n`, { mode: 0o600 });
      } catch {
        // The disk is full, or the directory was deleted. The user sees the line in the terminal.
      }
    };
  return { step: write(INFO), note: write(WARN) };
}
