/** Narrowing and comparing plain JSON. */
export type JsonMap = Record<string, unknown>;

export const isJsonMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]));
  }
  if (!isJsonMap(a) || !isJsonMap(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key]));
}

/** Sets a field even when its name is `__proto__`: object names and label keys come from clients. */
export function setField(map: JsonMap, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[name] = value;
  }
}
