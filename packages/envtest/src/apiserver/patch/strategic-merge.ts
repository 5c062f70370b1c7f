/**
 * Strategic merge patch: a merge patch that knows from the schema which lists are merged and by which key, with
 * directives inside the patch (`$patch`, `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`).
 * Neither the object nor the patch is changed; what the patch does not reach is shared with the result.
 */
import { badRequest } from '@tidegate/serving';
import type { Schema } from '../schema/types.ts';
import { formatGoValue, goJsonKind } from './go-format.ts';
import { isJsonMap, type JsonMap, setField } from './json-value.ts';
import {
  adopt,
  directiveTarget,
  isParallelListDirective,
  PATCH,
  RETAIN_KEYS,
} from './strategic-directives.ts';
import { badArgumentType, badPatchFormat, strategicError } from './strategic-errors.ts';
import { deleteFromList, type MergeMap, mergeList, reorderList } from './strategic-list.ts';

export function applyStrategicMergePatch<T extends object>(target: T, patch: unknown, schema: Schema): T {
  // Go decodes null into an empty map.
  if (patch === null) return target;
  if (!isJsonMap(patch)) {
    throw badRequest(
      `json: cannot unmarshal ${goJsonKind(patch)} into Go value of type map[string]interface {}`,
    );
  }
  return mergeMap(target as JsonMap, patch, schema) as T;
}

/** How a field is merged, as its schema says. */
interface Strategy {
  schema: Schema | undefined;
  items: Schema | undefined;
  /** `merge` or `replace`; anything else means the default: maps merge, lists are replaced. */
  action: string | undefined;
  mergeKey: string;
}

function strategyOf(schema: Schema | undefined, field: string): Strategy {
  const additional = schema?.additionalProperties;
  const own = schema?.properties?.[field] ?? (typeof additional === 'object' ? additional : undefined);
  const actions = own?.['x-kubernetes-patch-strategy']?.split(',') ?? [];
  return {
    schema: own,
    items: own?.items,
    action: actions.find((action) => action !== 'retainKeys'),
    mergeKey: own?.['x-kubernetes-patch-merge-key'] ?? '',
  };
}

const mergeMap: MergeMap = (original, patch, schema) => {
  if (Object.hasOwn(patch, PATCH)) return followPatchDirective(patch);
  const merged: JsonMap = { ...retainKeys(original, patch) };
  const ordered = mergeOrderedLists(merged, patch, schema);
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN_KEYS || ordered.has(key)) continue;
    if (isParallelListDirective(key, 'delete')) deleteFrom(merged, directiveTarget(key, 'delete'), value);
    else if (value === null) delete merged[key];
    else mergeField(merged, key, value, schema);
  }
  return merged;
};

function followPatchDirective(patch: JsonMap): JsonMap {
  const directive = patch[PATCH];
  if (directive === 'delete') return {};
  if (directive !== 'replace') {
    throw strategicError(`unknown patch type: ${formatGoValue(directive)} in map: ${formatGoValue(patch)}`);
  }
  const { [PATCH]: _, ...replacement } = patch;
  return adopt(replacement) as JsonMap;
}

/** `$retainKeys` names the only fields that may stay; whatever else the patch sets must be among them. */
function retainKeys(original: JsonMap, patch: JsonMap): JsonMap {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return original;
  const retained = patch[RETAIN_KEYS];
  if (!Array.isArray(retained)) throw badPatchFormat('retainKeys');
  const keep = new Set<unknown>(retained);
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN_KEYS || value === null) continue;
    if (isParallelListDirective(key, 'delete') || isParallelListDirective(key, 'order')) continue;
    if (!keep.has(key)) throw badPatchFormat('retainKeys');
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keep.has(key)));
}

function mergeField(merged: JsonMap, key: string, value: unknown, schema: Schema | undefined): void {
  const current = Object.hasOwn(merged, key) ? merged[key] : undefined;
  const strategy = strategyOf(schema, key);
  let result: unknown;
  if (isJsonMap(current) && isJsonMap(value)) {
    result = strategy.action === 'replace' ? adopt(value) : mergeMap(current, value, strategy.schema);
  } else if (Array.isArray(current) && Array.isArray(value) && strategy.action === 'merge') {
    result = mergeList(current, value, strategy.mergeKey, strategy.items, mergeMap);
  } else {
    result = adopt(value);
  }
  if (result === undefined) delete merged[key];
  else setField(merged, key, result);
}

function deleteFrom(merged: JsonMap, field: string, values: unknown): void {
  const current = Object.hasOwn(merged, field) ? merged[field] : undefined;
  if (values === null) delete merged[field];
  if (Array.isArray(current) && Array.isArray(values))
    setField(merged, field, deleteFromList(current, values));
}

/** Merges every list that has a `$setElementOrder`; returns the keys of the patch that are done with. */
function mergeOrderedLists(merged: JsonMap, patch: JsonMap, schema: Schema | undefined): Set<string> {
  const done = new Set<string>();
  for (const [key, order] of Object.entries(patch)) {
    if (!isParallelListDirective(key, 'order')) continue;
    done.add(key);
    if (!Array.isArray(order)) throw badArgumentType([], order);
    const field = directiveTarget(key, 'order');
    const current = listAt(merged, field);
    const change = listAt(patch, field);
    const { items, action, mergeKey } = strategyOf(schema, field);
    if (current === undefined && change === undefined) continue;
    const mergeContents = (): unknown[] => {
      if (change === undefined) return current ?? [];
      if (current === undefined || action !== 'merge') return adopt(change) as unknown[];
      return mergeList(current, change, mergeKey, items, mergeMap);
    };
    setField(merged, field, reorderList({ current, change, order, mergeKey, mergeContents }));
    done.add(field);
  }
  return done;
}

function listAt(map: JsonMap, field: string): unknown[] | undefined {
  if (!Object.hasOwn(map, field)) return undefined;
  const value = map[field];
  if (!Array.isArray(value)) throw badArgumentType([], value);
  return value;
}
