/**
 * A schema of version 3 as version 2 says it. What it has no words for is said more loosely, never more strictly: kubectl
 * refuses what the schema does not allow, and the server has the last word anyway.
 */
type Json = Record<string, unknown>;

const V3_REFERENCE = '#/components/schemas/';

export function toV2Definition(schema: Json): Json {
  // To kubectl properties are all that there may be, so not even metadata can be named.
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
  // kubectl refuses null for every type, and what is within an object or a list unless it is described.
  const isClosed = nullable !== true && !isOpen(schema);
  const isTyped = isClosed || (nullable !== true && type !== 'object' && type !== 'array');
  return {
    ...own,
    ...(isTyped && { type: type ?? unionType(oneOf) }),
    ...(isClosed && properties !== undefined && { properties: mapValues(properties as Json, toV2Schema) }),
    ...(isClosed && items !== undefined && { items: toV2Schema(items as Json) }),
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
