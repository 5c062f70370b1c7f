/** Narrowing and comparing plain JSON. */
export type JsonMap = Record<string, unknown>;

export const isJsonMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return Array.isArray(a) ? Array.isArray(b) && listsEqual(a, b) : !Array.isArray(b) && mapsEqual(a, b);
}

function listsEqual(a: unknown[], b: unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!jsonEqual(a[i], b[i])) return false;
  return true;
}

function mapsEqual(a: object, b: object): boolean {
  const left = a as JsonMap;
  const right = b as JsonMap;
  let extra = 0;
  for (const key in left) {
    if (!Object.hasOwn(right, key) || !jsonEqual(left[key], right[key])) return false;
    extra--;
  }
  for (const _ in right) extra++;
  return extra === 0;
}

/** Sets a field even when its name is `__proto__`: object names and label keys come from clients. */
export function setField(map: JsonMap, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[name] = value;
  }
}
