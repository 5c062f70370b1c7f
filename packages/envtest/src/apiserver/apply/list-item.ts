/** Identifies the items of sets and of lists of type map by a path element. */
import { isJsonMap, type JsonMap, ownField } from '@tidegate/kube';
import type { ListType } from './field-type.ts';
import { keyElement, valueElement } from './path-element.ts';

/** The element of the item, or the reason why it has none. */
export function itemElement(list: ListType, item: unknown): { element: string } | { problem: string } {
  return list.relation === 'set' ? setItem(item) : mapItem(list, item);
}

function setItem(item: unknown): { element: string } | { problem: string } {
  if (item === null || item === undefined) {
    return { problem: "associative list without keys has an element that's an explicit null" };
  }
  if (Array.isArray(item)) return { problem: 'not supported: associative list with lists as elements' };
  if (isJsonMap(item)) return { problem: "associative list without keys has an element that's a map type" };
  return { element: valueElement(item) };
}

function mapItem(list: ListType, item: unknown): { element: string } | { problem: string } {
  if (item === null || item === undefined) {
    return { problem: 'associative list with keys may not have a null element' };
  }
  if (!isJsonMap(item)) return { problem: 'associative list with keys may not have non-map elements' };
  const element = keyElement(list.keys, (name) => keyValue(list, item, name));
  if (element !== 'k:{}') return { element };
  const keys = list.keys.map((key) => JSON.stringify(key)).join(' ');
  return {
    problem: `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
  };
}

function keyValue(list: ListType, item: JsonMap, name: string): unknown {
  const value = ownField(item, name);
  if (value !== undefined) return value;
  return list.items.map?.fields.get(name)?.keyDefault ?? undefined;
}

/**
 * Items by element, in order. Several items below one element are duplicates. Items without an element are left out.
 */
export function indexItems(list: ListType, items: readonly unknown[]): Map<string, unknown[]> {
  const index = new Map<string, unknown[]>();
  for (const item of items) {
    const found = itemElement(list, item);
    if ('problem' in found) continue;
    const same = index.get(found.element);
    if (same === undefined) index.set(found.element, [item]);
    else same.push(item);
  }
  return index;
}
