import { isJsonMap } from '@tidegate/kube';
import { type JsonPatchOperation, toPointer } from '@tidegate/kube/patch';

/**
 * Returns the operations of a JSON Patch that turn `before` into `after`. Lists of the same length are compared item by item; other
 * lists are replaced as a whole, because a shorter patch would depend on the order of operations.
 */
export function jsonDifference(before: unknown, after: unknown): JsonPatchOperation[] {
  return [...differences(before, after, [])];
}

function* differences(before: unknown, after: unknown, path: string[]): Generator<JsonPatchOperation> {
  if (Object.is(before, after)) return;
  if (isJsonMap(before) && isJsonMap(after)) {
    for (const key of Object.keys(before))
      if (!has(after, key)) yield { op: 'remove', path: toPointer([...path, key]) };
    for (const [key, value] of Object.entries(after)) {
      if (value === undefined) continue;
      if (has(before, key)) yield* differences(before[key], value, [...path, key]);
      else yield { op: 'add', path: toPointer([...path, key]), value };
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [index, value] of after.entries())
      yield* differences(before[index], value, [...path, String(index)]);
    return;
  }
  yield { op: 'replace', path: toPointer(path), value: after };
}

const has = (map: Record<string, unknown>, key: string): boolean =>
  Object.hasOwn(map, key) && map[key] !== undefined;
