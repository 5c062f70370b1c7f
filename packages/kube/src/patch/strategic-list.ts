/**
 * Merges two lists of a strategic merge patch: scalars as sets, maps by their merge key. Items that the patch names keep
 * the order of the patch, the others keep the order they have on the server, and the two are interleaved along the
 * server's order.
 */
import { isJsonMap, type JsonMap, ownField } from '../base/json.ts';
import { adopt, PATCH } from './strategic-directives.ts';
import { StrategicMergeError } from './strategic-error.ts';

/** Merges one map of a list. It is passed in because maps contain lists, which contain maps. */
export type MergeItem = (original: JsonMap, patch: JsonMap) => JsonMap;

/** The merged list. Items of the patch are matched by `mergeKey`; unmatched ones are added. */
export function mergeList(
  original: unknown[],
  patch: unknown[],
  mergeKey: string,
  mergeItem: MergeItem,
): unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  if (!elementsAreMaps(original, patch)) {
    const merged = [...new Set([...original, ...patch])];
    return inOrder(merged, patch, original, '');
  }
  if (mergeKey === '') throw new StrategicMergeError({ type: 'no merge key for list' });
  const { kept, changes } = followItemDirectives(original as JsonMap[], patch as JsonMap[], mergeKey);
  const merged = [...kept];
  // An index, because lists of clients can be long. The first of several items with one key is merged.
  const places = new Map<unknown, number>();
  const note = (item: JsonMap, at: number): void => {
    const key = ownField(item, mergeKey);
    if (!places.has(key)) places.set(key, at);
  };
  merged.forEach(note);
  for (const change of changes) {
    const at = places.get(keyOf(change, mergeKey));
    const current = at === undefined ? undefined : merged[at];
    const item = current === undefined ? (adopt(change) as JsonMap) : mergeItem(current, change);
    merged[at ?? merged.length] = item;
    if (at === undefined) note(item, merged.length - 1);
  }
  return inOrder(merged, changes, kept, mergeKey);
}

/** The list without these values. */
export const deleteFromList = (current: unknown[], values: unknown[]): unknown[] => {
  const gone = new Set(values);
  return current.filter((item) => !gone.has(item));
};

/** Follows `$patch` inside list items. The changes are the items without it, which are still to be merged. */
function followItemDirectives(
  original: JsonMap[],
  patch: JsonMap[],
  mergeKey: string,
): { kept: JsonMap[]; changes: JsonMap[] } {
  const deleted = new Set<unknown>();
  let replace = false;
  const changes: JsonMap[] = [];
  for (const item of patch) {
    if (!Object.hasOwn(item, PATCH)) {
      changes.push(item);
      continue;
    }
    switch (item[PATCH]) {
      case 'delete':
        deleted.add(keyOf(item, mergeKey));
        break;
      case 'replace':
        replace = true;
        break;
      case 'merge':
        throw new StrategicMergeError({ type: 'list merge directive' });
      default:
        throw new StrategicMergeError({ type: 'unknown $patch', value: item[PATCH], map: item });
    }
  }
  if (replace) return { kept: adopt(changes) as JsonMap[], changes: [] };
  const kept = original.filter((item) => !deleted.has(ownField(item, mergeKey)));
  return { kept: deleted.size === 0 ? original : kept, changes };
}

interface Reordering {
  current: unknown[] | undefined;
  change: unknown[] | undefined;
  /** The list of `$setElementOrder`. */
  order: unknown[];
  mergeKey: string;
  mergeContents: () => unknown[];
}

/** Merges a list with `$setElementOrder`: that order wins over the patch's, which wins over the server's. */
export function reorderList({ current, change, order, mergeKey, mergeContents }: Reordering): unknown[] {
  requireSameOrder(change ?? [], order, mergeKey);
  const merged = mergeContents();
  elementsAreMaps(current ?? [], change ?? []);
  return inOrder(merged, order, current ?? [], mergeKey);
}

/**
 * The items of the patch must appear in `$setElementOrder` in the same order. Otherwise the patch contradicts itself.
 */
function requireSameOrder(patch: unknown[], order: unknown[], mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return;
  const pending = patch.filter((item) => !(isJsonMap(item) && Object.hasOwn(item, PATCH)));
  let next = 0;
  for (const item of order) {
    if (next === pending.length) return;
    if (identityOf(pending[next], mergeKey) === identityOf(item, mergeKey)) next++;
  }
  if (next === pending.length) return;
  throw new StrategicMergeError({ type: 'order mismatch', patch, order });
}

/** Items named by `patchOrder` in that order, the others in the server's, interleaved by the server's order. */
function inOrder(
  items: unknown[],
  patchOrder: unknown[],
  serverOrder: unknown[],
  mergeKey: string,
): unknown[] {
  const rank = (order: unknown[]): Map<unknown, number> => {
    const ranks = new Map<unknown, number>();
    for (const item of order) {
      const identity = identityOf(item, mergeKey);
      if (!ranks.has(identity)) ranks.set(identity, ranks.size);
    }
    return ranks;
  };
  const inPatch = rank(patchOrder);
  const onServer = rank(serverOrder);
  const rankOf = (ranks: Map<unknown, number>, item: unknown): number =>
    ranks.get(identityOf(item, mergeKey)) ?? -1;
  const sortedBy = (ranks: Map<unknown, number>, some: unknown[]): unknown[] =>
    some.sort((a, b) => rankOf(ranks, a) - rankOf(ranks, b));

  const patched = sortedBy(
    inPatch,
    items.filter((item) => rankOf(inPatch, item) >= 0),
  );
  const others = sortedBy(
    onServer,
    items.filter((item) => rankOf(inPatch, item) < 0),
  );
  const result: unknown[] = [];
  let next = 0;
  for (const item of patched) {
    const place = rankOf(onServer, item);
    while (next < others.length && place >= 0) {
      const other = rankOf(onServer, others[next]);
      if (other < 0 || other >= place) break;
      result.push(others[next++]);
    }
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

const identityOf = (item: unknown, mergeKey: string): unknown => {
  if (mergeKey === '') return item;
  if (!isJsonMap(item)) throw new StrategicMergeError({ type: 'wrong type', expected: 'map', actual: item });
  return keyOf(item, mergeKey);
};

function keyOf(item: JsonMap, mergeKey: string): unknown {
  if (!Object.hasOwn(item, mergeKey)) {
    throw new StrategicMergeError({ type: 'no merge key in item', item, mergeKey });
  }
  return item[mergeKey];
}

/** All elements must be of one type, and not lists. */
function elementsAreMaps(...lists: unknown[][]): boolean {
  const [first, ...rest] = lists.flat();
  if (first === undefined) throw new StrategicMergeError({ type: 'no items' });
  if (Array.isArray(first)) throw new StrategicMergeError({ type: 'list of lists' });
  const type = typeOf(first);
  if (rest.some((item) => typeOf(item) !== type)) {
    throw new StrategicMergeError({ type: 'mixed item types', lists });
  }
  return isJsonMap(first);
}

/** Go decodes whole numbers and fractions into different types, and a list may hold only one of them. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction';
  return typeof value;
}
