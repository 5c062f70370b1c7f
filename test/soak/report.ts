import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SoakResult } from './soak.ts';

const MIB = 1024 * 1024;
const LAST_LINES = 6;

export function summary(seed: number, { operations, answered, excuses, usages }: SoakResult): string {
  const mib = (bytes: number): string => (bytes === 0 ? '-' : `${Math.round(bytes / MIB)} MiB`);
  return [
    '',
    ...table(
      ['OPERATION', 'TIMES'],
      [...operations].toSorted().map(([name, times]) => [name, String(times)]),
    ),
    '',
    ...table(
      ['EXPLANATION OF FAILURES', 'FAILURES', 'LAST AFTER'],
      excuses.map(({ why, failures, lastAfter }) => [why, String(failures), `${lastAfter.toFixed(1)} s`]),
    ),
    '',
    ...table(
      ['PROCESS', 'LIVES', 'WARM', 'END', 'PEAK', ''],
      usages.map(({ kind, lives, warm, end, peak, leaks }) => [
        kind,
        String(lives),
        mib(warm),
        mib(end),
        mib(peak),
        leaks ? 'LEAKS' : '',
      ]),
    ),
    '',
    `seed ${seed}: ${answered} requests answered correctly`,
  ].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('   ')
      .trimEnd(),
  );
}

/** The last warnings and errors of each process of the cluster. */
export async function lastWarnings(directory: string): Promise<string> {
  const logs = join(directory, 'logs');
  const names = (await readdir(logs)).filter((name) => name.endsWith('.log')).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(logs, name), 'utf8')));
  return names
    .map((name, i) => [`== ${name}`, ...warnings(texts[i] ?? '').slice(-LAST_LINES)])
    .filter(({ length }) => length > 1)
    .flat()
    .join('\n');
}

/** JSON lines of level `warn` and above, and lines that are not JSON. */
const warnings = (log: string): string[] =>
  log
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '' && !/^\{"level":[1-3]0,/.test(line));
