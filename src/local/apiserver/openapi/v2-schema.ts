/**
 * A schema of version 3 as version 2 says it. What it has no words for is said more loosely, never more strictly: kubectl
 * refuses what the schema does not allow, and the server has the last word anyway.
 */
type Json = Record<string, unknown>;

const V3_REFERENCE = '#/components/schemas/';

export function toV2Definition(schema: Json): Json {
  // kubectl takes properties for the complete list of them, and an object must have some to be more than a map.
  if (isOpen(schema)) return { type: 'object', ...pick(schema, 'x-kubernetes-group-version-kind') };
  return toV2Schema(schema);
}

export function toV2Schema(schema: Json): Json {
  const { allOf, anyOf, oneOf, not, nullable, default: _, ...rest } = schema;
  const target = referenceOf(rest) ?? (allOf as Json[] | undefined)?.map(referenceOf)[0];
  if (target !== undefined) {
    return { ...rest, $ref: `#/definitions/${target.slice(V3_REFERENCE.length)}` };
  }
  const { type, properties, items, additionalProperties, required, ...own } = rest;
  // A list or an object of which the elements are not known has no type either: kubectl can not read one without them.
  const open = nullable === true || isOpen(schema);
  const typed = nullable !== true && !(isOpen(schema) && (type === 'object' || type === 'array'));
  return {
    ...own,
    ...(typed && { type: type ?? unionType(oneOf) }),
    ...(!open && properties !== undefined && { properties: mapValues(properties as Json, toV2Schema) }),
    ...(!open && items !== undefined && { items: toV2Schema(items as Json) }),
    ...(additionalProperties !== undefined && { additionalProperties: toV2Value(additionalProperties) }),
    ...(required !== undefined && { required: demanded(schema) }),
  };
}

const isOpen = (schema: Json): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

const referenceOf = (schema: Json): string | undefined => schema.$ref as string | undefined;

/** `additionalProperties` may be a mere boolean. */
const toV2Value = (value: unknown): unknown =>
  typeof value === 'object' ? toV2Schema(value as Json) : value;

/** Quantities and the like, which are a string or a number, count as strings. */
const unionType = (oneOf: unknown): string | undefined =>
  (oneOf as Json[] | undefined)?.some(({ type }) => type === 'string') ? 'string' : undefined;

/** Null counts as absent here, so a field that may be null can not be demanded. */
function demanded(schema: Json): string[] | undefined {
  const { required, properties, additionalProperties } = schema as {
    required: string[];
    properties?: Record<string, Json>;
    additionalProperties?: Json;
  };
  if (additionalProperties?.nullable === true) return undefined;
  const left = required.filter((name) => properties?.[name]?.nullable !== true);
  return left.length === 0 ? undefined : left;
}

const pick = (object: Json, key: string): Json => (object[key] === undefined ? {} : { [key]: object[key] });

export const mapValues = <T>(object: Json, map: (value: Json) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value as Json)]));
