/** The differences between two states of an object, as sets of field paths. */
import { isJsonMap, type JsonMap, jsonEqual, ownField } from '@tidegate/kube';
import { everyPath } from './field-paths.ts';
import { DEDUCED, type FieldType, type ListType, type MapType, type Shape, shapeOf } from './field-type.ts';
import { type FieldNode, type FieldSet, LEAF, sealed, unionOfNodes } from './fieldset.ts';
import { indexItems } from './list-item.ts';
import { fieldElement } from './path-element.ts';

export interface Comparison {
  /** Paths that were added or have a different value. */
  changed: FieldSet;
  removed: FieldSet;
}

/** Two nodes under construction: changed paths and removed paths. */
interface Difference {
  changed: FieldNode;
  removed: FieldNode;
}

/**
 * Compares two states of an object by its type: maps and associative lists field by field, everything else as a
 * whole.
 */
export function compare(before: JsonMap, after: JsonMap, type: FieldType): Comparison {
  const difference: Difference = { changed: {}, removed: {} };
  if (before !== after && type.map !== undefined) compareFields(before, after, type.map, difference);
  return { changed: sealed(difference.changed), removed: sealed(difference.removed) };
}

function compareFields(before: JsonMap, after: JsonMap, type: MapType, difference: Difference): void {
  for (const name in after) compareField(name, before, after, type, difference);
  for (const name in before) {
    if (ownField(after, name) === undefined) compareField(name, before, after, type, difference);
  }
}

function compareField(
  name: string,
  before: JsonMap,
  after: JsonMap,
  type: MapType,
  difference: Difference,
): void {
  const a = ownField(before, name);
  const b = ownField(after, name);
  if (a === b) return;
  const field = type.fields.get(name);
  const element = field?.element ?? fieldElement(name);
  const fieldType = field?.type ?? type.values ?? DEDUCED;
  compareValues(a ?? absent(a, field?.zero), b ?? absent(b, field?.zero), fieldType, element, difference);
}

/** Only a missing field has a zero value; an explicit null is a value. */
const absent = (value: unknown, zero: unknown): unknown => (value === null ? null : zero);

/** A value that is new or gone contributes all paths below it; otherwise only the paths that differ. */
function compareValues(
  before: unknown,
  after: unknown,
  type: FieldType,
  element: string,
  difference: Difference,
): void {
  if (before === undefined) put(difference.changed, element, everyPath(after, type));
  else if (after === undefined) put(difference.removed, element, everyPath(before, type));
  else {
    // A value of unknown type can change its shape, for example from map to list. Then it is compared as both.
    const shapeBefore = shapeOf(type, before);
    const shapeAfter = shapeOf(type, after);
    if (shapeBefore !== shapeAfter) compareAs(shapeBefore, before, after, type, element, difference);
    compareAs(shapeAfter, before, after, type, element, difference);
  }
}

function compareAs(
  shape: Shape,
  before: unknown,
  after: unknown,
  type: FieldType,
  element: string,
  difference: Difference,
): void {
  if (shape === 'map') {
    const a = isJsonMap(before) ? before : {};
    const b = isJsonMap(after) ? after : {};
    const map = type.map as MapType;
    const asLeaf = map.atomic || (isEmptyMap(a) && isEmptyMap(b));
    if (!asLeaf) {
      descend(element, difference, (below) => compareFields(a, b, map, below));
      return;
    }
  } else if (shape === 'list') {
    const a = Array.isArray(before) ? before : [];
    const b = Array.isArray(after) ? after : [];
    const list = type.list as ListType;
    const asLeaf = list.relation === 'atomic' || (a.length === 0 && b.length === 0);
    if (!asLeaf) {
      // Most lists do not change in a write, and a plain comparison is cheaper than computing the keys of all items.
      if (!jsonEqual(a, b)) descend(element, difference, (below) => compareItems(a, b, list, below));
      return;
    }
  }
  if (!jsonEqual(before, after)) put(difference.changed, element, LEAF);
}

/** Items are matched by key, not by position: a changed order is not a change of any field. */
function compareItems(before: unknown[], after: unknown[], type: ListType, difference: Difference): void {
  const a = indexItems(type, before);
  const b = indexItems(type, after);
  for (const [element, items] of b) compareSameKey(a.get(element) ?? [], items, type, element, difference);
  for (const [element, items] of a) {
    if (!b.has(element)) compareSameKey(items, [], type, element, difference);
  }
}

/**
 * Several items with the same key are one indivisible value. An item that becomes part of such a group loses its own
 * paths.
 */
function compareSameKey(
  before: unknown[],
  after: unknown[],
  type: ListType,
  element: string,
  difference: Difference,
): void {
  const hadTwins = before.length > 1;
  const hasTwins = after.length > 1;
  if (hadTwins && hasTwins) {
    if (!jsonEqual(before, after)) put(difference.changed, element, LEAF);
    return;
  }
  if (hadTwins) put(difference.removed, element, LEAF);
  if (hasTwins) put(difference.changed, element, LEAF);
  const single = hadTwins ? undefined : before[0];
  const now = hasTwins ? undefined : after[0];
  if (single === now) return;
  compareValues(single, now, type.items, element, difference);
}

/** Compares below `element` and adds the result only if something differs. */
function descend(element: string, difference: Difference, fill: (below: Difference) => void): void {
  const below: Difference = { changed: {}, removed: {} };
  fill(below);
  if (!isEmptyMap(below.changed)) put(difference.changed, element, sealed(below.changed));
  if (!isEmptyMap(below.removed)) put(difference.removed, element, sealed(below.removed));
}

function put(node: FieldNode, element: string, below: FieldSet): void {
  const present = node[element];
  node[element] = present === undefined ? below : unionOfNodes(present, below);
}

function isEmptyMap(map: object): boolean {
  for (const _ in map) return false;
  return true;
}
