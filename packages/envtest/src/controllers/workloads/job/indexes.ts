/** Sets of completion indexes in the text form of the status, for example `1,3-5,7`. */

/** No Job of an embedded cluster completes more. A status can name two billion in a few bytes. */
const MAX_INDEXES = 100_000;

/** Indexes at or above `completions` are dropped, because the Job may have been made smaller since. */
export function parseIndexes(text: string | undefined, completions: number): Set<number> {
  const indexes = new Set<number>();
  for (const range of (text ?? '').split(',').filter((part) => part !== '')) {
    const [first = 0, last = first] = range.split('-').map(Number);
    const end = Math.min(last, completions - 1);
    for (let index = first; index <= end && indexes.size < MAX_INDEXES; index++) indexes.add(index);
  }
  return indexes;
}

/** Two consecutive indexes are listed; three and more become a range. */
export function formatIndexes(indexes: Iterable<number>): string {
  const sorted = [...indexes].toSorted((a, b) => a - b);
  const runs: [first: number, last: number][] = [];
  for (const index of sorted) {
    const run = runs.at(-1);
    if (run?.[1] === index - 1) run[1] = index;
    else runs.push([index, index]);
  }
  return runs
    .map(([first, last]) => {
      if (first === last) return `${first}`;
      return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
    })
    .join(',');
}
