/** One line of a benchmark: what was measured, and what the reference did in the same run. */
export interface Figure {
  what: string;
  value: string;
  reference?: string;
  ratio?: string;
}

export function printFigures(title: string, figures: Figure[]): void {
  const rows = [
    ['', 'tidegate', 'reference', 'ratio'],
    ...figures.map((f) => [f.what, f.value, f.reference ?? '', f.ratio ?? '']),
  ];
  const widths = [0, 1, 2, 3].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  console.log(`\n${title}`);
  for (const row of rows) {
    console.log(
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('   ')
        .trimEnd(),
    );
  }
}

export const perSecond = (count: number, ms: number): number => Math.round((count * 1000) / ms);

/** The value below which the given share of the samples lies. */
export function quantile(samples: number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const millis = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`;

/** Runs `work` `count` times, `parallel` at a time; resolves to the milliseconds that all of it took. */
export async function hammer(
  count: number,
  parallel: number,
  work: (i: number) => Promise<void>,
): Promise<number> {
  const started = performance.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return performance.now() - started;
}
