/** Computes the field paths of a value. */
import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { DEDUCED, type FieldType, type ListType, type MapType, shapeOf } from './field-type.ts';
import { EMPTY, type FieldNode, type FieldSet, LEAF, sealed, withSelf } from './fieldset.ts';
import { indexItems, itemElement } from './list-item.ts';
import { fieldElement, SELF } from './path-element.ts';

/** Every path at and below a value that is added or removed as a whole. The path of the value itself is a member. */
export function everyPath(value: unknown, type: FieldType): FieldSet {
  switch (shapeOf(type, value)) {
    case 'list':
      return Array.isArray(value) ? everyItem(value, type.list as ListType) : LEAF;
    case 'map':
      return isJsonMap(value) ? everyField(value, type.map as MapType) : LEAF;
    default:
      return LEAF;
  }
}

function everyField(value: JsonMap, type: MapType): FieldSet {
  if (type.atomic) return LEAF;
  const names = sortedKeys(value);
  if (names.length === 0) return LEAF;
  const node: FieldNode = { [SELF]: LEAF };
  for (const name of names) {
    const child = value[name];
    if (child === undefined) continue;
    const field = type.fields.get(name);
    node[field?.element ?? fieldElement(name)] = everyPath(child, field?.type ?? type.values ?? DEDUCED);
  }
  return node;
}

/** The keys of most objects are sorted already, and checking that is cheaper than sorting. */
function sortedKeys(value: JsonMap): string[] {
  const keys = Object.keys(value);
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort();
  }
  return keys;
}

function everyItem(value: unknown[], type: ListType): FieldSet {
  if (type.relation === 'atomic' || value.length === 0) return LEAF;
  const node: FieldNode = { [SELF]: LEAF };
  for (const item of value) {
    const found = itemElement(type, item);
    if ('problem' in found) continue;
    // Several items with the same key can only be owned together, not in parts.
    node[found.element] = found.element in node ? LEAF : everyPath(item, type.items);
  }
  return sealed(node);
}

/**
 * The paths that an applied configuration claims: leaves, list items and map entries. A named field that has content is
 * not claimed itself: applying `spec.replicas` does not express whether `spec` should exist.
 */
export function claimedPaths(object: JsonMap, type: FieldType): FieldSet {
  return claimedBelow(object, type) ?? EMPTY;
}

/** Returns undefined if nothing at or below the value is claimed, and LEAF if the value itself is. */
function claimedBelow(value: unknown, type: FieldType): FieldSet | undefined {
  switch (shapeOf(type, value)) {
    case 'list':
      return claimedItems(value, type.list as ListType);
    case 'map':
      return claimedFields(value, type.map as MapType);
    default:
      return LEAF;
  }
}

/**
 * A key of a map without declared fields, for example a label, is claimed together with its value. A declared field
 * is claimed only if it has no content that could be claimed instead.
 */
function claimedFields(value: unknown, type: MapType): FieldSet | undefined {
  if (type.atomic) return LEAF;
  if (!isJsonMap(value)) return undefined;
  const node: FieldNode = {};
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined) continue;
    const field = type.fields.get(name);
    const below = claimedBelow(child, field?.type ?? type.values ?? DEDUCED);
    const claimed = field === undefined || child === null || (isJsonMap(child) && isEmptyMap(child));
    const result = claimed ? withSelf(below ?? LEAF) : below;
    if (result !== undefined) node[field?.element ?? fieldElement(name)] = result;
  }
  return isEmptyMap(node) ? undefined : sealed(node);
}

/**
 * An item of an associative list is claimed itself, in addition to its fields: applying it means that it should
 * exist.
 */
function claimedItems(value: unknown, type: ListType): FieldSet | undefined {
  if (type.relation === 'atomic') return LEAF;
  if (!Array.isArray(value)) return undefined;
  const node: FieldNode = {};
  for (const [element, items] of indexItems(type, value)) {
    const below = items.length > 1 ? LEAF : claimedBelow(items[0], type.items);
    node[element] = withSelf(below ?? LEAF);
  }
  return isEmptyMap(node) ? undefined : sealed(node);
}

const isEmptyMap = (map: object): boolean => Object.keys(map).length === 0;
