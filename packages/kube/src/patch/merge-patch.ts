/** JSON Merge Patch, RFC 7386. */
import { isJsonMap, type JsonMap, ownField, setField } from '../base/json.ts';

/**
 * Returns the document with the patch applied: maps are merged, null removes a field, everything else, lists included,
 * replaces what was there. Neither argument is changed; the result shares what the patch does not reach.
 *
 * @example
 * applyMergePatch({ spec: { replicas: 1, paused: true } }, { spec: { replicas: 3, paused: null } });
 * // { spec: { replicas: 3 } }
 */
export function applyMergePatch<T extends object>(document: T, patch: JsonMap): T {
  return mergeInto(document, patch) as T;
}

function mergeInto(target: unknown, patch: JsonMap): JsonMap {
  const merged: JsonMap = isJsonMap(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setField(merged, name, isJsonMap(value) ? mergeInto(ownField(merged, name), value) : value);
  }
  return merged;
}
