/** Takes back what a manager applied last time and does not apply any more, unless somebody else owns it too. */
import { isJsonMap, type JsonMap } from '../patch/json-value.ts';
import { claimedPaths } from './field-paths.ts';
import { DEDUCED, type FieldType, type ListType, type MapType, shapeOf } from './field-type.ts';
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

/** `owned`: everything that any manager owns, the applying one with its new configuration included. */
export function prune(merged: JsonMap, last: FieldSet, owned: FieldSet, type: FieldType): JsonMap {
  if (isEmpty(difference(last, owned))) return merged;
  const named = (set: FieldSet): FieldSet => withNamedFields(set, type);
  const mergedPaths = named(claimedPaths(merged, type));
  const lastPaths = named(last);
  const withoutLast = removePaths(merged, lastPaths, type);
  // Back comes what somebody owns ...
  const kept = union(named(claimedPaths(withoutLast, type)), named(owned));
  const withOwned = removePaths(merged, difference(mergedPaths, kept), type);
  // ... and what nobody owns but the applying manager never owned either.
  const gone = difference(mergedPaths, named(claimedPaths(withOwned, type)));
  return removePaths(merged, intersection(gone, lastPaths), type);
}

/** The set with every named field above a member as a member too: `spec.replicas` brings `spec`. */
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

/** The object without the members of a set. What becomes empty by that disappears. */
function removePaths(object: JsonMap, paths: FieldSet, type: FieldType): JsonMap {
  return isEmpty(paths) ? object : ((removeBelow(object, paths, type) ?? {}) as JsonMap);
}

function removeBelow(value: unknown, paths: FieldSet, type: FieldType): unknown {
  switch (shapeOf(type, value)) {
    case 'map':
      return isJsonMap(value) ? removeFields(value, paths, type.map as MapType) : undefined;
    case 'list':
      return Array.isArray(value) ? removeItems(value, paths, type.list as ListType) : undefined;
    default:
      return value;
  }
}

function removeFields(value: JsonMap, paths: FieldSet, type: MapType): unknown {
  if (type.atomic) return undefined;
  const rest: JsonMap = { ...value };
  for (const name of Object.keys(value)) {
    const field = type.fields.get(name);
    const below = paths[field?.element ?? fieldElement(name)];
    if (below === undefined) continue;
    const child = isMember(below)
      ? undefined
      : removeBelow(value[name], below, field?.type ?? type.values ?? DEDUCED);
    if (child === undefined) delete rest[name];
    else rest[name] = child;
  }
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function removeItems(value: unknown[], paths: FieldSet, type: ListType): unknown {
  if (type.relation === 'atomic') return undefined;
  const rest: unknown[] = [];
  for (const item of value) {
    const found = itemElement(type, item);
    const below = 'element' in found ? paths[found.element] : undefined;
    if (below === undefined) rest.push(item);
    else if (!isMember(below)) rest.push(removeBelow(item, below, type.items));
  }
  return rest.length === 0 ? undefined : rest;
}
