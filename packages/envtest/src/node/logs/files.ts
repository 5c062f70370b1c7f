import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of one part of a log: the output, and when it was seen. */
export interface PartFiles {
  output: string;
  times: string;
}

/** The log of one attempt to run a container: the current file, and the rotated one. */
export interface AttemptFiles {
  current: PartFiles;
  rotated: PartFiles;
}

/** The files of one attempt to run a container: output and times, current and rotated. */
export function filesOf(directory: string, attempt: number): AttemptFiles {
  const output = join(directory, `${attempt}.log`);
  const times = join(directory, `${attempt}.times`);
  return { current: { output, times }, rotated: { output: `${output}.1`, times: `${times}.1` } };
}

/** All attempts that have a log, the newest first. */
export async function attemptsIn(directory: string): Promise<number[]> {
  if (!existsSync(directory)) return [];
  const attempts = (await readdir(directory)).flatMap((name) => /^(\d+)\.log$/.exec(name)?.[1] ?? []);
  return attempts.map(Number).sort((a, b) => b - a);
}
