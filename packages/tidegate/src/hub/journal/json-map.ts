/** Objects as they come out of JSON, their fields unknown. */
export type JsonMap = Record<string, unknown>;

export const isJsonMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A field of that map, or an empty map where there is none. */
export const mapAt = (map: JsonMap, field: string): JsonMap => {
  const value = map[field];
  return isJsonMap(value) ? value : {};
};
