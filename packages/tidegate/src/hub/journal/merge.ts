/**
 * Merging a patch of a node's or pod's status, an event or a lease into the object: a merge patch, and where the lists of
 * the patch have a merge key a strategic merge patch with its directives.
 */
import { isJsonMap, type JsonMap } from './json-map.ts';

/** Lists that are merged by the value of one field, by their names. */
export type MergeKeys = Readonly<Record<string, string>>;

/** The lists in the status of nodes and pods that the API server merges; it replaces all others. */
export const STATUS_MERGE_KEYS: MergeKeys = {
  conditions: 'type',
  addresses: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  resourceClaimStatuses: 'name',
};

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const ORDER = '$setElementOrder/';

/** What the patch does not reach is shared with the result; null takes a field away. */
export function merge(target: JsonMap, patch: JsonMap, keys: MergeKeys = {}): JsonMap {
  if (patch[DIRECTIVE] === 'delete') return {};
  if (patch[DIRECTIVE] === 'replace') return withoutOrders(patch) as JsonMap;
  const merged = retained(target, patch[RETAIN_KEYS]);
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$')) continue;
    if (value === null) delete merged[field];
    else
      setField(
        merged,
        field,
        mergeValue(merged[field], value, Object.hasOwn(keys, field) ? keys[field] : ''),
      );
  }
  for (const [field, order] of Object.entries(patch)) {
    const list = merged[field.slice(ORDER.length)];
    const key = keys[field.slice(ORDER.length)];
    if (field.startsWith(ORDER) && key !== undefined && Array.isArray(list) && Array.isArray(order))
      setField(merged, field.slice(ORDER.length), inOrder(list, order, key));
  }
  return merged;
}

function mergeValue(current: unknown, value: unknown, key: string | undefined): unknown {
  if (isJsonMap(value)) return merge(isJsonMap(current) ? current : {}, value);
  if (!Array.isArray(value)) return value;
  if (key === undefined || key === '') return withoutOrders(value);
  return mergeList(Array.isArray(current) ? current : [], value, key);
}

function mergeList(current: unknown[], changes: unknown[], key: string): unknown[] {
  const isOrder = (item: unknown): boolean => isJsonMap(item) && Object.hasOwn(item, DIRECTIVE);
  const replaces = changes.some((item) => isJsonMap(item) && item[DIRECTIVE] === 'replace');
  if (replaces) return changes.filter((item) => !isOrder(item)).map(withoutOrders);
  const merged = [...current];
  for (const change of changes) {
    if (!isJsonMap(change)) continue;
    const at = merged.findIndex((item) => isJsonMap(item) && item[key] === change[key]);
    const item = merged[at];
    if (change[DIRECTIVE] === 'delete') {
      if (at >= 0) merged.splice(at, 1);
    } else if (isJsonMap(item)) merged[at] = merge(item, change);
    else merged.push(withoutOrders(change));
  }
  return merged;
}

function retained(target: JsonMap, names: unknown): JsonMap {
  if (!Array.isArray(names)) return { ...target };
  return Object.fromEntries(Object.entries(target).filter(([field]) => names.includes(field)));
}

/** Items that the order does not name come last, as they stood. */
function inOrder(list: unknown[], order: unknown[], key: string): unknown[] {
  const idOf = (item: unknown): unknown => (isJsonMap(item) ? item[key] : undefined);
  const places = new Map(order.map((item, place) => [idOf(item), place]));
  const placeOf = (item: unknown): number => places.get(idOf(item)) ?? order.length;
  return list.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** A value that has nothing to merge with, as it is stored. */
function withoutOrders(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOrders);
  if (!isJsonMap(value)) return value;
  const plain: JsonMap = {};
  for (const [field, child] of Object.entries(value))
    if (child !== null && !field.startsWith('$')) setField(plain, field, withoutOrders(child));
  return plain;
}

/** Also for the name `__proto__`, which an assignment would take for something else. */
function setField(map: JsonMap, field: string, value: unknown): void {
  Object.defineProperty(map, field, { value, writable: true, enumerable: true, configurable: true });
}
