/** JSON merge patch, RFC 7386, with the answers that kube-apiserver gives to malformed ones. */
import { badRequest } from '@tidegate/serving';
import { goJsonKind } from './go-format.ts';
import { isJsonMap, type JsonMap, setField } from './json-value.ts';

export function applyMergePatch<T extends object>(target: T, patch: unknown): T {
  if (patch === null) throw badRequest('Invalid JSON Patch');
  if (!isJsonMap(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${goJsonKind(patch)} into Go value of type map[string]interface {}`,
    );
  }
  return mergeInto(target, patch) as T;
}

function mergeInto(target: unknown, patch: JsonMap): JsonMap {
  const merged: JsonMap = isJsonMap(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setField(merged, name, isJsonMap(value) ? mergeInto(ownField(merged, name), value) : value);
  }
  return merged;
}

const ownField = (map: JsonMap, name: string): unknown => (Object.hasOwn(map, name) ? map[name] : undefined);
