/**
 * The patch that leads from one state of an object to a later one, and what two such patches make together. It names
 * nothing that did not change: what others wrote in the cloud meanwhile stays.
 *
 * A condition that changed is in it whole: a controller that made it Unknown while the node was away would otherwise
 * keep its word beside the node's new times. Other lists are in it whole too, with the order to replace where the API
 * server would merge: several addresses of a node share one type, and the order of a pod's addresses has a meaning.
 */
import { isDeepStrictEqual } from 'node:util';
import { isJsonMap, type JsonMap, mapIn } from '@tidegate/kube';
import { STATUS_MERGE_KEYS } from './merge.ts';

/** Lists of which the node owns some items, and others own others. */
const SHARED_LISTS: Readonly<Record<string, string | undefined>> = { conditions: 'type' };
const REPLACE = { $patch: 'replace' };

/** Empty when nothing changed. */
export function difference(before: JsonMap, after: JsonMap, depth = 0): JsonMap {
  const patch: JsonMap = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = before[field];
    const now = after[field];
    if (isDeepStrictEqual(old, now)) continue;
    patch[field] = changeOf(field, old, now, depth);
  }
  return patch;
}

function changeOf(field: string, old: unknown, now: unknown, depth: number): unknown {
  if (now === undefined) return null;
  if (isJsonMap(old) && isJsonMap(now)) return difference(old, now, depth + 1);
  if (!Array.isArray(now) || depth !== 1) return now;
  const key = SHARED_LISTS[field];
  if (key !== undefined) return changedItems(Array.isArray(old) ? old : [], now, key);
  return Object.hasOwn(STATUS_MERGE_KEYS, field) ? [...now, REPLACE] : now;
}

function changedItems(old: unknown[], now: unknown[], key: string): unknown[] {
  const before = itemsBy(key, old);
  const after = itemsBy(key, now);
  const gone = [...before.keys()].filter((id) => !after.has(id));
  return [
    ...[...after.values()].filter((item) => !isDeepStrictEqual(item, before.get(item[key]))).map(whole),
    ...gone.map((id) => ({ $patch: 'delete', [key]: id })),
  ];
}

/** An item that keeps nothing of what the API server has of it. */
const whole = (item: JsonMap): JsonMap => ({ $retainKeys: Object.keys(item), ...item });

/** One patch for two differences, the second made after the first. */
export function compose(first: JsonMap, second: JsonMap): JsonMap {
  const patch = { ...first };
  for (const [field, value] of Object.entries(second)) {
    const earlier = patch[field];
    const key = SHARED_LISTS[field];
    if (isJsonMap(earlier) && isJsonMap(value)) patch[field] = compose(earlier, value);
    else if (earlier === null) patch[field] = instead(value, key !== undefined);
    else if (key !== undefined && Array.isArray(earlier) && Array.isArray(value))
      patch[field] = [...new Map([...itemsBy(key, earlier), ...itemsBy(key, value)]).values()];
    else patch[field] = value;
  }
  return patch;
}

/** A value for a field that was taken away before: nothing of what the API server has there may come back. */
function instead(value: unknown, shared: boolean): unknown {
  if (isJsonMap(value)) return { ...REPLACE, ...value };
  return shared && Array.isArray(value) ? [...value, REPLACE] : value;
}

const itemsBy = (key: string, list: unknown[]): Map<unknown, JsonMap> =>
  new Map(list.filter(isJsonMap).map((item) => [item[key], item]));

/** The fields that a write to the status, or to a lease, may change. */
export function writable(object: JsonMap, part: 'status' | 'spec'): JsonMap {
  const { labels, annotations } = mapIn(object, 'metadata');
  return {
    metadata: {
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    ...(object[part] === undefined ? {} : { [part]: object[part] }),
  };
}
