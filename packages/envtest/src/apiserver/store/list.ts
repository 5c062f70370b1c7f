/** Lists of a table: as it is now, or as it was, by undoing the kept changes. */
import { compareKeys, type ObjectKey, type Run } from './table.ts';
import type { Change, Entry, ListOptions } from './types.ts';

export interface Page {
  entries: Entry[];
  remaining: number;
}

/** The first `limit` entries of the runs. Costs what it returns, not what the table holds. */
export function pageOf(runs: readonly Run[], limit: number): Page {
  const slices: Entry[][] = [];
  let wanted = limit;
  let remaining = 0;
  for (const { entries, start } of runs) {
    const slice = entries.slice(start, start + wanted);
    slices.push(slice);
    wanted -= slice.length;
    remaining += entries.length - start - slice.length;
  }
  const [first = [], ...rest] = slices;
  // `concat` copies whole arrays; `flat` goes element by element and takes ten times as long.
  return { entries: rest.length === 0 ? first : first.concat(...rest), remaining };
}

/** An object that has changed since, and what it was; undefined when it did not exist. */
interface Past extends ObjectKey {
  entry: Entry | undefined;
  existsNow: boolean;
}

/** The same page before `changes` (oldest first) were made: costs the page and the changes. */
export function pastPageOf(
  runs: readonly Run[],
  changes: readonly Change[],
  options: ListOptions,
  limit: number,
): Page {
  const pasts = pastsOf(changes, options);
  let total = 0;
  for (const { entries, start } of runs) total += entries.length - start;
  for (const { entry, existsNow } of pasts) total += Number(entry !== undefined) - Number(existsNow);
  const entries: Entry[] = [];
  for (const entry of undone(runs, pasts)) {
    if (entries.length === limit) break;
    entries.push(entry);
  }
  return { entries, remaining: total - entries.length };
}

/** The entries of the runs in order, with what changed put back to what it was. */
function* undone(runs: readonly Run[], pasts: readonly Past[]): Generator<Entry> {
  let next = 0;
  for (const { entries, start } of runs) {
    for (let index = start; index < entries.length; index += 1) {
      const current = entries[index]!;
      let changed = false;
      for (; next < pasts.length && !changed; next += 1) {
        const past = pasts[next]!;
        const order = compareKeys(past, current);
        if (order > 0) break;
        if (past.entry) yield past.entry;
        changed = order === 0;
      }
      if (!changed) yield current;
    }
  }
  for (const { entry } of pasts.slice(next)) if (entry) yield entry;
}

/** The first change of an object tells what it was, the last one whether it exists now. */
function pastsOf(changes: readonly Change[], { namespace, after }: ListOptions): Past[] {
  const pasts = new Map<string, Past>();
  for (const { type, entry, previous } of changes) {
    if (namespace && entry.namespace !== namespace) continue;
    if (after !== undefined && compareKeys(entry, after) <= 0) continue;
    const key = `${entry.namespace}/${entry.name}`;
    const known = pasts.get(key);
    if (known !== undefined) known.existsNow = type === 'put';
    else
      pasts.set(key, {
        namespace: entry.namespace,
        name: entry.name,
        entry: previous,
        existsNow: type === 'put',
      });
  }
  return [...pasts.values()].sort(compareKeys);
}
