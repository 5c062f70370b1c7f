/** Narrowing, comparing and changing values that came out of a JSON parser. */

/** A JSON object whose fields are not known. */
export type JsonMap = Record<string, unknown>;

/** Whether the value is a JSON object, and neither a list nor null. */
export const isJsonMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deep equality of JSON values. The order of fields does not matter, the order of list items does. */
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

/** Compares without building lists of keys: API servers compare every object on every write. */
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

/** The map in this field; an empty map when the field holds anything else. */
export function mapIn(map: JsonMap, name: string): JsonMap {
  const value = ownField(map, name);
  return isJsonMap(value) ? value : {};
}

/**
 * The value of a field; undefined for fields that every object inherits, such as `constructor`. Use it wherever users choose
 * the name: keys of ConfigMaps, labels and resources, names in paths, words of expressions.
 */
export const ownField = <T>(map: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;

/**
 * Sets a field whatever its name is. Names come from clients, and a plain assignment to `__proto__` would replace the
 * prototype of the map instead.
 */
export function setField<T>(map: Record<string, T>, name: string, value: NoInfer<T>): void {
  if (name === '__proto__') {
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[name] = value;
  }
}
