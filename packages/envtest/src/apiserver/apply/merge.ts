/** Merges an applied configuration into a live object. Nothing is removed here; see `prune.ts`. */
import { isJsonMap, type JsonMap, setField } from '@tidegate/kube';
import { DEDUCED, type FieldType, type ListType, type MapType, shapeOf } from './field-type.ts';
import { indexItems, itemElement } from './list-item.ts';

export function mergeApplied(live: JsonMap, applied: JsonMap, type: FieldType): JsonMap {
  return mergeValues(live, applied, type) as JsonMap;
}

function mergeValues(live: unknown, applied: unknown, type: FieldType): unknown {
  if (live === undefined || applied === undefined) return applied === undefined ? live : applied;
  switch (shapeOf(type, applied)) {
    case 'map':
      return mergeMaps(live, applied, type.map as MapType);
    case 'list':
      return mergeLists(live, applied, type.list as ListType);
    default:
      return applied;
  }
}

/** Returns the live map itself if nothing changes, so that an apply without effect can be detected by identity. */
function mergeMaps(live: unknown, applied: unknown, type: MapType): unknown {
  const below = isJsonMap(live) ? live : {};
  const above = isJsonMap(applied) ? applied : {};
  // If both are empty, the difference between null and {} is kept.
  if (type.atomic || (isEmpty(below) && isEmpty(above))) return applied;
  let merged: JsonMap | undefined;
  for (const [name, value] of Object.entries(above)) {
    const current = Object.hasOwn(below, name) ? below[name] : undefined;
    const result = mergeValues(current, value, type.fields.get(name)?.type ?? type.values ?? DEDUCED);
    if (result === current) continue;
    merged ??= { ...below };
    setField(merged, name, result);
  }
  return merged ?? below;
}

const isEmpty = (map: object): boolean => Object.keys(map).length === 0;

function mergeLists(live: unknown, applied: unknown, type: ListType): unknown {
  const below = Array.isArray(live) ? live : [];
  const above = Array.isArray(applied) ? applied : [];
  if (type.relation === 'atomic' || (below.length === 0 && above.length === 0)) return applied;
  return mergeItems(below, above, type);
}

/**
 * Merges two lists of type map or set. Items of both lists follow the applied order. Live items between them keep their
 * position as far as that order allows, and new items are inserted where the configuration has them.
 */
function mergeItems(live: unknown[], applied: unknown[], type: ListType): unknown[] {
  const liveIndex = indexItems(type, live);
  const appliedIndex = indexItems(type, applied);
  const liveElements = live.map((item) => elementOf(type, item));
  const appliedElements = [...appliedIndex.keys()];
  const shared = appliedElements.filter((element) => liveIndex.has(element));
  const done = new Set<string>();
  const merged: unknown[] = [];
  const takeApplied = (element: string): void => {
    const current = liveIndex.get(element) ?? [];
    // Live items with the same key cannot be distinguished, so the applied item replaces all of them.
    const partner = current.length === 1 ? current[0] : undefined;
    merged.push(mergeValues(partner, appliedIndex.get(element)?.[0], type.items));
    done.add(element);
    if (shared[0] === element) shared.shift();
  };

  let l = 0;
  let a = 0;
  while (l < live.length || a < appliedElements.length) {
    const current = liveElements[l];
    const wanted = appliedElements[a];
    const isShared = current !== undefined && appliedIndex.has(current);
    // A live item that is not applied stays where it is.
    if (l < live.length && !isShared) {
      merged.push(live[l++]);
      continue;
    }
    // The live order differs from the applied order. The live item is skipped here and inserted at its applied
    // position.
    const dueLater = current !== wanted && shared[0] !== undefined && shared[0] !== current;
    if (isShared && wanted !== undefined && dueLater) {
      l++;
      continue;
    }
    if (isShared && (current === wanted || done.has(current))) l++;
    if (wanted !== undefined) takeApplied(wanted);
    a++;
  }
  return merged;
}

function elementOf(type: ListType, item: unknown): string | undefined {
  const found = itemElement(type, item);
  return 'element' in found ? found.element : undefined;
}
