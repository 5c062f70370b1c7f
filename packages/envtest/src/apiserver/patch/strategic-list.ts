/**
 * Merging two lists of a strategic merge patch: scalars as sets, maps by their merge key. The items of the patch keep
 * the patch's order, those only the server knows keep theirs, and the two are interleaved along the server's order.
 */
import type { Schema } from '../schema/types.ts';
import { formatGoValue, goTypeName } from './go-format.ts';
import { isJsonMap, type JsonMap } from './json-value.ts';
import { adopt, PATCH } from './strategic-directives.ts';
import { badArgumentType, listOfLists, noMergeKey, strategicError } from './strategic-errors.ts';

/** Merges one map of a list; given by the caller, since maps contain lists contain maps. */
export type MergeMap = (original: JsonMap, patch: JsonMap, schema: Schema | undefined) => JsonMap;

export function mergeList(
  original: unknown[],
  patch: unknown[],
  mergeKey: string,
  items: Schema | undefined,
  mergeMap: MergeMap,
): unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  if (!elementsAreMaps(original, patch)) {
    const merged = [...new Set([...original, ...patch])];
    return inOrder(merged, patch, original, '');
  }
  if (mergeKey === '') throw strategicError('cannot merge lists without merge key for struct');
  const { kept, changes } = followItemDirectives(original as JsonMap[], patch as JsonMap[], mergeKey);
  const merged = [...kept];
  for (const change of changes) {
    const key = keyOf(change, mergeKey);
    const at = merged.findIndex((item) => item[mergeKey] === key);
    const current = merged[at];
    if (current === undefined) merged.push(adopt(change) as JsonMap);
    else merged[at] = mergeMap(current, change, items);
  }
  return inOrder(merged, changes, kept, mergeKey);
}

export const deleteFromList = (current: unknown[], values: unknown[]): unknown[] => {
  const gone = new Set(values);
  return current.filter((item) => !gone.has(item));
};

/** Obeys `$patch` inside list items. Items without it are the changes that are left to merge. */
function followItemDirectives(
  original: JsonMap[],
  patch: JsonMap[],
  mergeKey: string,
): { kept: JsonMap[]; changes: JsonMap[] } {
  let kept = original;
  let replace = false;
  const changes: JsonMap[] = [];
  for (const item of patch) {
    if (!Object.hasOwn(item, PATCH)) {
      changes.push(item);
      continue;
    }
    switch (item[PATCH]) {
      case 'delete': {
        const key = keyOf(item, mergeKey);
        kept = kept.filter((candidate) => candidate[mergeKey] !== key);
        break;
      }
      case 'replace':
        replace = true;
        break;
      case 'merge':
        throw strategicError('merging lists cannot yet be specified in the patch');
      default:
        throw strategicError(
          `unknown patch type: ${formatGoValue(item[PATCH])} in map: ${formatGoValue(item)}`,
        );
    }
  }
  return replace ? { kept: adopt(changes) as JsonMap[], changes: [] } : { kept, changes };
}

interface Reordering {
  current: unknown[] | undefined;
  change: unknown[] | undefined;
  /** The list of `$setElementOrder`. */
  order: unknown[];
  mergeKey: string;
  mergeContents: () => unknown[];
}

/** A list with `$setElementOrder`: that order wins over the patch's, which wins over the server's. */
export function reorderList({ current, change, order, mergeKey, mergeContents }: Reordering): unknown[] {
  requireSameOrder(change ?? [], order, mergeKey);
  const merged = mergeContents();
  elementsAreMaps(current ?? [], change ?? []);
  return inOrder(merged, order, current ?? [], mergeKey);
}

function requireSameOrder(patch: unknown[], order: unknown[], mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return;
  const pending = patch.filter((item) => !(isJsonMap(item) && Object.hasOwn(item, PATCH)));
  let next = 0;
  for (const item of order) {
    if (next === pending.length) return;
    if (identityOf(pending[next], mergeKey) === identityOf(item, mergeKey)) next++;
  }
  if (next === pending.length) return;
  throw strategicError(
    `The order in patch list:\n${formatGoValue(patch)}\n doesn't match $setElementOrder list:\n${formatGoValue(order)}\n`,
  );
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
  if (!isJsonMap(item)) throw badArgumentType({}, item);
  return keyOf(item, mergeKey);
};

function keyOf(item: JsonMap, mergeKey: string): unknown {
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  return item[mergeKey];
}

/** All elements must be of one type, and not lists. */
function elementsAreMaps(...lists: unknown[][]): boolean {
  const [first, ...rest] = lists.flat();
  if (first === undefined) throw strategicError('no elements in any of the given slices');
  if (Array.isArray(first)) throw listOfLists();
  const type = goTypeName(first);
  if (rest.some((item) => goTypeName(item) !== type)) {
    throw strategicError(`list element types are not identical: ${formatGoValue(lists)}`);
  }
  return isJsonMap(first);
}
