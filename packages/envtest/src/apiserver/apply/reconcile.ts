/** Adapts the paths of a manager to a schema that has changed: a field that is atomic now is owned as a whole. */
import { type FieldType, type MapType, shapeOf } from './field-type.ts';
import { type FieldNode, type FieldSet, isEmpty, LEAF } from './fieldset.ts';
import { SELF } from './path-element.ts';

export function reconcileWithSchema(set: FieldSet, type: FieldType): FieldSet {
  return isEmpty(set) ? set : reconcileNode(set, type);
}

function reconcileNode(node: FieldSet, type: FieldType): FieldSet {
  // Only the type decides, because the value is not known. null has every shape that the type allows.
  const shape = shapeOf(type, null);
  if (shape === 'map') {
    const map = type.map as MapType;
    if (map.atomic) return isDeduced(map) ? node : LEAF;
    return reconcileChildren(node, (element) => fieldTypeAt(map, element));
  }
  const list = type.list;
  if (shape === 'scalar' || list === undefined) return node;
  return list.relation === 'atomic' ? LEAF : reconcileChildren(node, () => list.items);
}

const isDeduced = (map: MapType): boolean => map.fields.size === 0 && map.values?.scalar === 'untyped';

const fieldTypeAt = (map: MapType, element: string): FieldType | undefined =>
  map.fields.get(element.slice(2))?.type ?? map.values;

function reconcileChildren(node: FieldSet, typeAt: (element: string) => FieldType | undefined): FieldSet {
  let result: FieldNode | undefined;
  for (const element in node) {
    const child = node[element] as FieldSet;
    if (element === SELF || isEmpty(child)) continue;
    const type = typeAt(element);
    const reconciled = type === undefined ? child : reconcileNode(child, type);
    if (reconciled === child) continue;
    result ??= { ...node };
    result[element] = reconciled;
  }
  return result ?? node;
}
