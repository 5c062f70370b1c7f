/**
 * The strategic merge patch that leads from one state of an object to a later one, and the composition of two such
 * patches. A patch contains only fields that changed, so it keeps what other clients wrote in the meantime.
 *
 * A changed condition is sent as a whole, with `$retainKeys`. While the node is disconnected, the node lifecycle
 * controller sets the condition to Unknown, with its own reason and message. If the patch contained only the fields that
 * the node changed, for example `lastHeartbeatTime`, the condition would become a mixture of both.
 *
 * Other lists are also sent as a whole, with `$patch: replace` where the API server would merge them: several addresses
 * of a node can share one type, which is the merge key, and the order of the addresses of a pod has a meaning.
 */
import { isDeepStrictEqual } from 'node:util';
import { isJsonMap, type JsonMap, mapIn, ownField, setField } from '@tidegate/kube';
import { STATUS_MERGE_KEYS } from './merge.ts';

/** Lists in which the node owns some items and other clients own others, with their merge keys. */
const SHARED_LISTS: Readonly<Record<string, string | undefined>> = { conditions: 'type' };
const REPLACE = { $patch: 'replace' };

/**
 * The patch that turns `before` into `after`; empty if they are equal. `depth` is 1 for the fields of the
 * status (or spec, or metadata).
 */
export function difference(before: JsonMap, after: JsonMap, depth = 0): JsonMap {
  const patch: JsonMap = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = ownField(before, field);
    const now = ownField(after, field);
    if (isDeepStrictEqual(old, now)) continue;
    setField(patch, field, changeOf(field, old, now, depth));
  }
  return patch;
}

/**
 * The value of one field in the patch. Merge keys only apply to lists directly in the status. The API server
 * replaces all other lists, so they need no directive.
 */
function changeOf(field: string, old: unknown, now: unknown, depth: number): unknown {
  if (now === undefined) return null;
  if (isJsonMap(old) && isJsonMap(now)) return difference(old, now, depth + 1);
  if (!Array.isArray(now) || depth !== 1) return now;
  const key = ownField(SHARED_LISTS, field);
  if (key !== undefined) return changedItems(Array.isArray(old) ? old : [], now, key);
  return Object.hasOwn(STATUS_MERGE_KEYS, field) ? [...now, REPLACE] : now;
}

/** Items that are new or changed, and a directive to delete each item that was removed. */
function changedItems(old: unknown[], now: unknown[], key: string): unknown[] {
  const before = itemsBy(key, old);
  const after = itemsBy(key, now);
  const gone = [...before.keys()].filter((id) => !after.has(id));
  return [
    ...[...after.values()].filter((item) => !isDeepStrictEqual(item, before.get(item[key]))).map(whole),
    ...gone.map((id) => ({ $patch: 'delete', [key]: id })),
  ];
}

/**
 * Replaces the item. Without `$retainKeys`, the API server would keep fields of its own copy that the item
 * lacks.
 */
const whole = (item: JsonMap): JsonMap => ({ $retainKeys: Object.keys(item), ...item });

/** Returns one patch that has the effect of applying `first` and then `second`. */
export function compose(first: JsonMap, second: JsonMap): JsonMap {
  const patch = { ...first };
  for (const [field, value] of Object.entries(second)) {
    const earlier = ownField(patch, field);
    const key = ownField(SHARED_LISTS, field);
    if (isJsonMap(earlier) && isJsonMap(value)) patch[field] = compose(earlier, value);
    else if (earlier === null) patch[field] = instead(value, key !== undefined);
    else if (key !== undefined && Array.isArray(earlier) && Array.isArray(value))
      patch[field] = [...new Map([...itemsBy(key, earlier), ...itemsBy(key, value)]).values()];
    else patch[field] = value;
  }
  return patch;
}

/**
 * The value of a field that an earlier patch removed. The composed patch is the only one that is sent, so it
 * must replace what the API server has there, not merge with it.
 */
function instead(value: unknown, shared: boolean): unknown {
  if (isJsonMap(value)) return { ...REPLACE, ...value };
  return shared && Array.isArray(value) ? [...value, REPLACE] : value;
}

const itemsBy = (key: string, list: unknown[]): Map<unknown, JsonMap> =>
  new Map(list.filter(isJsonMap).map((item) => [item[key], item]));

/** The fields that a write to the status, or to a lease, can change. */
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
