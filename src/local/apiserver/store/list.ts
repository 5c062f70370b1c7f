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
  const entries: Entry[] = [];
  let next = 0;
  let run = 0;
  let index = runs[0]?.start ?? 0;
  while (entries.length < limit) {
    const current = runs[run]?.entries[index];
    const past = pasts[next];
    if (current === undefined && past === undefined) break;
    const order = current === undefined ? 1 : past === undefined ? -1 : compareKeys(current, past);
    if (order < 0) entries.push(current!);
    else if (past?.entry) entries.push(past.entry);
    if (order >= 0) next += 1;
    if (order <= 0) {
      index += 1;
      if (index === runs[run]!.entries.length) {
        run += 1;
        index = runs[run]?.start ?? 0;
      }
    }
  }
  let remaining = -index + (runs[run]?.start ?? 0);
  for (const rest of runs.slice(run)) remaining += rest.entries.length - rest.start;
  for (const past of pasts.slice(next))
    remaining += Number(past.entry !== undefined) - Number(past.existsNow);
  return { entries, remaining };
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
