/**
 * Removes the fields that a manager applied last time and does not apply any more, unless another manager owns them.
 *
 * Removing a field can also remove the maps around it, so the set of removed paths is computed in three steps: remove
 * everything that was applied last time; restore what any manager owns; restore what had no owner at all.
 */
import { isJsonMap, type JsonMap, setField } from '@tidegate/kube';
import { claimedPaths } from './field-paths.ts';
import { DEDUCED, type FieldType, type ListType, type MapType } from './field-type.ts';
import {
  difference,
  type FieldNode,
  type FieldSet,
  intersection,
  isEmpty,
  isMember,
  sealed,
  union,
  withSelf,
} from './fieldset.ts';
import { itemElement } from './list-item.ts';
import { fieldElement, SELF } from './path-element.ts';

/** `owned`: the paths of all managers, including the applying manager with its new configuration. */
export function prune(merged: JsonMap, last: FieldSet, owned: FieldSet, type: FieldType): JsonMap {
  // Usually the manager applies the same fields as before, or more. Then nothing can be removed.
  if (isEmpty(difference(last, owned))) return merged;
  const named = (set: FieldSet): FieldSet => withNamedFields(set, type);
  const claimed = (object: JsonMap): FieldSet => named(claimedPaths(object, type));
  const mergedPaths = claimed(merged);
  const lastPaths = named(last);
  const withoutLast = removePaths(merged, lastPaths, type, leaveNull);
  // Restore what any manager owns. `claimed(withoutLast)` are the paths that the manager had not applied.
  const kept = union(claimed(withoutLast), named(owned));
  const withOwned = removePaths(merged, difference(mergedPaths, kept), type, leaveNull);
  // ... and what the applying manager did not own, even if it has no owner.
  const gone = difference(mergedPaths, claimed(withOwned));
  return removePaths(merged, intersection(gone, lastPaths), type, leaveToOwner, owned);
}

/** Decides what remains of a map or list that has lost all its content. `owned`: the owned paths at and below it. */
type Remainder = (owned: FieldSet | undefined, shape: 'map' | 'list') => unknown;

/** The field remains, with the value null. */
const leaveNull: Remainder = () => null;

/**
 * The field is removed, unless a manager owns the map itself: a manager that applied `emptyDir: {}` keeps it when
 * another manager removes its content. (kube-apiserver removes it in this case.)
 */
const leaveToOwner: Remainder = (owned, shape) =>
  shape === 'map' && owned !== undefined && isMember(owned) ? {} : undefined;

/** Adds every named field above a member to the set: `spec.replicas` adds `spec`. */
function withNamedFields(set: FieldSet, type: FieldType | undefined): FieldSet {
  const node: FieldNode = {};
  for (const element in set) {
    const below = set[element] as FieldSet;
    if (element === SELF || isEmpty(below)) {
      node[element] = below;
      continue;
    }
    const field = element.startsWith('f:') ? type?.map?.fields.get(element.slice(2)) : undefined;
    const childType = element.startsWith('k:') ? type?.list?.items : (field?.type ?? type?.map?.values);
    const child = withNamedFields(below, childType);
    node[element] = field === undefined ? child : withSelf(child);
  }
  return sealed(node);
}

/** The object without the members of the set. */
function removePaths(
  object: JsonMap,
  paths: FieldSet,
  type: FieldType,
  remainder: Remainder,
  owned?: FieldSet,
): JsonMap {
  if (isEmpty(paths)) return object;
  return (new Removal(remainder).below(object, paths, type, owned) ?? {}) as JsonMap;
}

class Removal {
  readonly #remainder: Remainder;

  constructor(remainder: Remainder) {
    this.#remainder = remainder;
  }

  below(value: unknown, paths: FieldSet, type: FieldType, owned: FieldSet | undefined): unknown {
    if (isJsonMap(value) && type.map !== undefined) return this.#fields(value, paths, type.map, owned);
    if (Array.isArray(value) && type.list !== undefined) return this.#items(value, paths, type.list, owned);
    return value;
  }

  #fields(value: JsonMap, paths: FieldSet, type: MapType, owned: FieldSet | undefined): unknown {
    if (type.atomic) return this.#remainder(owned, 'map');
    const rest: JsonMap = { ...value };
    for (const name of Object.keys(value)) {
      const field = type.fields.get(name);
      const element = field?.element ?? fieldElement(name);
      const below = paths[element];
      if (below === undefined) continue;
      const childType = field?.type ?? type.values ?? DEDUCED;
      const child = isMember(below) ? undefined : this.below(value[name], below, childType, owned?.[element]);
      if (child === undefined) delete rest[name];
      else setField(rest, name, child);
    }
    return Object.keys(rest).length === 0 ? this.#remainder(owned, 'map') : rest;
  }

  #items(value: unknown[], paths: FieldSet, type: ListType, owned: FieldSet | undefined): unknown {
    if (type.relation === 'atomic') return this.#remainder(owned, 'list');
    const rest: unknown[] = [];
    for (const item of value) {
      const found = itemElement(type, item);
      const below = 'element' in found ? paths[found.element] : undefined;
      if (below !== undefined && isMember(below)) continue;
      const kept =
        below === undefined || !('element' in found)
          ? item
          : this.below(item, below, type.items, owned?.[found.element]);
      if (kept !== undefined && kept !== null) rest.push(kept);
    }
    return rest.length === 0 ? this.#remainder(owned, 'list') : rest;
  }
}
