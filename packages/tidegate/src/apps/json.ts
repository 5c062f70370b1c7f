/**
 * Reads and changes JSON documents by path. Changes return a copy and share the parts that did not change. Manifests come
 * from informer caches, so they must never be changed in place.
 */
import { isJsonMap, type JsonMap, ownField } from '@tidegate/kube';

/** Field names and list indexes (as text), from the root of a document. */
export type Path = readonly string[];

/** Returns the map at the path, or an empty map if there is none. */
export const mapAt = (value: unknown, path: Path): JsonMap => {
  const found = read(value, path);
  return isJsonMap(found) ? found : {};
};

/** Returns the list at the path, or an empty list if there is none. */
export const listAt = (value: unknown, path: Path): readonly unknown[] => {
  const found = read(value, path);
  return Array.isArray(found) ? found : [];
};

/** Returns the value at the path, or undefined if any step is missing. */
export function read(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (Array.isArray(found)) found = INDEX.test(step) ? found[Number(step)] : undefined;
    else found = isJsonMap(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

/** Returns a copy with `item` at the path. Creates maps that are missing along the path. */
export function write<T>(value: T, path: Path, item: unknown): T {
  const [step, ...rest] = path;
  if (step === undefined) return item as T;
  if (Array.isArray(value)) return value.with(Number(step), write(value[Number(step)], rest, item)) as T;
  const map: JsonMap = isJsonMap(value) ? value : {};
  return { ...map, [step]: write(ownField(map, step), rest, item) } as T;
}

/** Returns a copy without the value at the path, or the document itself if nothing is there. */
export function without<T>(value: T, path: Path): T {
  const step = path.at(-1);
  const parentPath = path.slice(0, -1);
  const parent = read(value, parentPath);
  if (step === undefined || read(parent, [step]) === undefined) return value;
  if (Array.isArray(parent)) return write(value, parentPath, parent.toSpliced(Number(step), 1));
  const { [step]: _, ...rest } = parent as JsonMap;
  return write(value, parentPath, rest);
}

const INDEX = /^(0|[1-9]\d*)$/;
