/** Reading and changing JSON by path. Nothing is ever changed in place: manifests are shared with caches. */
import { isJsonMap, type JsonMap } from '@tidegate/kube';

export type Path = readonly string[];

/** The map at this place of a document; an empty one when there is none. */
export const mapAt = (value: unknown, path: Path): JsonMap => {
  const found = read(value, path);
  return isJsonMap(found) ? found : {};
};

export const listAt = (value: unknown, path: Path): readonly unknown[] => {
  const found = read(value, path);
  return Array.isArray(found) ? found : [];
};

export function read(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (Array.isArray(found)) found = INDEX.test(step) ? found[Number(step)] : undefined;
    else found = isJsonMap(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

/** A copy with `item` at this place. Maps that are missing on the way are made. */
export function write<T>(value: T, path: Path, item: unknown): T {
  const [step, ...rest] = path;
  if (step === undefined) return item as T;
  if (Array.isArray(value)) return value.with(Number(step), write(value[Number(step)], rest, item)) as T;
  const map: JsonMap = isJsonMap(value) ? value : {};
  return { ...map, [step]: write(map[step], rest, item) } as T;
}

/** A copy without what is at this place. */
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
