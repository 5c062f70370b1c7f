/** Lists of a table: at the newest revision, or at an older one by undoing the changes since then. */
import { compareKeys, type ObjectKey, type Run } from './table.ts';
import type { Change, Entry, ListOptions } from './types.ts';

export interface Page {
  entries: Entry[];
  remaining: number;
}

/** The first `limit` entries of the runs. The cost depends on the result, not on the size of the table. */
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
  // `concat` copies whole arrays; `flat` copies element by element and takes ten times as long.
  return { entries: rest.length === 0 ? first : first.concat(...rest), remaining };
}

/** An object that has changed since the requested revision, and its state then; undefined if it did not exist. */
interface Past extends ObjectKey {
  entry: Entry | undefined;
  existsNow: boolean;
}

/** The page before `changes` (oldest first) were made. The cost depends on the page and on the number of changes. */
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

/**
 * The entries of the runs in order, with every changed object replaced by its past state. Both inputs are sorted, so
 * this is one merge: deleted objects reappear between their neighbors, and created ones are left out.
 */
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

/** The first change of an object holds its past state; the last change shows whether it exists now. */
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
