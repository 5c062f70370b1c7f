/**
 * Strategic merge patch, the default of kubectl: a merge patch that can also merge lists, with directives inside the patch
 * (`$patch`, `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`). Which lists are merged, and by
 * which key, is a property of the type of the object; the caller provides it.
 */
import { isJsonMap, type JsonMap, ownField, setField } from '../base/json.ts';
import {
  adopt,
  directiveTarget,
  isParallelListDirective,
  PATCH,
  RETAIN_KEYS,
} from './strategic-directives.ts';
import { StrategicMergeError } from './strategic-error.ts';
import { deleteFromList, mergeList, reorderList } from './strategic-list.ts';

/** How one field is merged. `S` is whatever the caller uses to describe a type. */
export interface FieldStrategy<S> {
  /** Default: maps are merged, lists are replaced. */
  action?: 'merge' | 'replace';
  /** The field that identifies the items of a list that is merged. */
  mergeKey?: string;
  /** The type of the field, if it is a map. */
  schema?: S;
  /** The type of the items, if the field is a list. */
  items?: S;
}

/** Looks up a field in a type. Undefined when the caller knows nothing about it; its `$setElementOrder` is ignored then. */
export type StrategyOf<S> = (schema: S | undefined, field: string) => FieldStrategy<S> | undefined;

/**
 * Returns the object with the patch applied. Neither argument is changed; the result shares what the patch does not
 * reach. Throws a StrategicMergeError.
 *
 * @example
 * const byName = () => ({ action: 'merge', mergeKey: 'name' }) as const;
 * applyStrategicMergePatch(
 *   { containers: [{ name: 'web', image: 'web:1' }, { name: 'log' }] },
 *   { containers: [{ name: 'web', image: 'web:2' }] },
 *   byName,
 * );
 * // { containers: [{ name: 'web', image: 'web:2' }, { name: 'log' }] }
 */
export function applyStrategicMergePatch<T extends object, S = undefined>(
  target: T,
  patch: JsonMap,
  strategyOf: StrategyOf<S>,
  schema?: S,
): T {
  return new Merge(strategyOf).map(target as JsonMap, patch, schema) as T;
}

class Merge<S> {
  readonly #strategyOf: StrategyOf<S>;

  constructor(strategyOf: StrategyOf<S>) {
    this.#strategyOf = strategyOf;
  }

  /**
   * Merges a map: first `$patch`, which replaces or deletes it as a whole; then `$retainKeys`; then lists with an
   * explicit order; then the remaining fields one by one. This is the order of kube-apiserver, and the result depends
   * on it.
   */
  map(original: JsonMap, patch: JsonMap, schema: S | undefined): JsonMap {
    if (Object.hasOwn(patch, PATCH)) return followPatchDirective(patch);
    const merged: JsonMap = { ...retainKeys(original, patch) };
    const ordered = this.#orderedLists(merged, patch, schema);
    for (const [key, value] of Object.entries(patch)) {
      if (key === RETAIN_KEYS || ordered.has(key)) continue;
      if (isParallelListDirective(key, 'delete')) deleteFrom(merged, directiveTarget(key, 'delete'), value);
      else if (value === null) delete merged[key];
      else this.#field(merged, key, value, schema);
    }
    return merged;
  }

  /**
   * Maps are merged unless their strategy is `replace`. Lists are merged only if their strategy is `merge`.
   * Everything else is replaced.
   */
  #field(merged: JsonMap, key: string, value: unknown, schema: S | undefined): void {
    const current = ownField(merged, key);
    const strategy = this.#strategyOf(schema, key) ?? {};
    let result: unknown;
    if (isJsonMap(current) && isJsonMap(value)) {
      result = strategy.action === 'replace' ? adopt(value) : this.map(current, value, strategy.schema);
    } else if (Array.isArray(current) && Array.isArray(value) && strategy.action === 'merge') {
      result = this.#list(current, value, strategy);
    } else {
      result = adopt(value);
    }
    if (result === undefined) delete merged[key];
    else setField(merged, key, result);
  }

  #list(current: unknown[], change: unknown[], { mergeKey = '', items }: FieldStrategy<S>): unknown[] {
    return mergeList(current, change, mergeKey, (original, patch) => this.map(original, patch, items));
  }

  /** Merges every list that has a `$setElementOrder`; returns the keys of the patch that this covers. */
  #orderedLists(merged: JsonMap, patch: JsonMap, schema: S | undefined): Set<string> {
    const done = new Set<string>();
    for (const [key, order] of Object.entries(patch)) {
      if (!isParallelListDirective(key, 'order')) continue;
      done.add(key);
      if (!Array.isArray(order)) throw wrongType(order);
      const field = directiveTarget(key, 'order');
      const strategy = this.#strategyOf(schema, field);
      if (strategy === undefined) continue;
      const current = listAt(merged, field);
      const change = listAt(patch, field);
      if (current === undefined && change === undefined) continue;
      const mergeContents = (): unknown[] => {
        if (change === undefined) return current ?? [];
        if (current === undefined || strategy.action !== 'merge') return adopt(change) as unknown[];
        return this.#list(current, change, strategy);
      };
      const { mergeKey = '' } = strategy;
      setField(merged, field, reorderList({ current, change, order, mergeKey, mergeContents }));
      done.add(field);
    }
    return done;
  }
}

/** `$patch: delete` empties the map; `$patch: replace` puts the rest of the patch in its place. */
function followPatchDirective(patch: JsonMap): JsonMap {
  const directive = patch[PATCH];
  if (directive === 'delete') return {};
  if (directive !== 'replace') {
    throw new StrategicMergeError({ type: 'unknown $patch', value: directive, map: patch });
  }
  const { [PATCH]: _, ...replacement } = patch;
  return adopt(replacement) as JsonMap;
}

/** `$retainKeys` lists the only fields that may stay. Every field that the patch sets must be among them. */
function retainKeys(original: JsonMap, patch: JsonMap): JsonMap {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return original;
  const malformed = (): Error =>
    new StrategicMergeError({ type: 'invalid directive', directive: RETAIN_KEYS });
  const retained = patch[RETAIN_KEYS];
  if (!Array.isArray(retained)) throw malformed();
  const keep = new Set<unknown>(retained);
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN_KEYS || value === null) continue;
    if (isParallelListDirective(key, 'delete') || isParallelListDirective(key, 'order')) continue;
    if (!keep.has(key)) throw malformed();
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keep.has(key)));
}

/** Removes values from a list of scalars; null removes the list. */
function deleteFrom(merged: JsonMap, field: string, values: unknown): void {
  const current = ownField(merged, field);
  if (values === null) delete merged[field];
  if (Array.isArray(current) && Array.isArray(values))
    setField(merged, field, deleteFromList(current, values));
}

function listAt(map: JsonMap, field: string): unknown[] | undefined {
  if (!Object.hasOwn(map, field)) return undefined;
  const value = map[field];
  if (!Array.isArray(value)) throw wrongType(value);
  return value;
}

const wrongType = (actual: unknown): StrategicMergeError =>
  new StrategicMergeError({ type: 'wrong type', expected: 'list', actual });
