/**
 * Converts a schema from OpenAPI v3 to v2. Keywords that v2 lacks make the result less strict, never stricter, because
 * kubectl rejects objects that the schema does not allow, while the server validates them in any case.
 */
import { ownField } from '@tidegate/kube';

type Json = Record<string, unknown>;

const V3_REFERENCE = '#/components/schemas/';

export function toV2Definition(schema: Json): Json {
  // kubectl treats the properties as complete, so not even metadata can be listed for an object with unknown fields.
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
  // kubectl rejects null for every type, and the content of objects and lists unless it is described.
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

/** `additionalProperties` can be a boolean. */
const toV2Value = (value: unknown): unknown =>
  typeof value === 'object' ? toV2Schema(value as Json) : value;

/** Quantities and other unions of string and number are described as strings. */
const unionType = (oneOf: unknown): string | undefined =>
  (oneOf as Json[] | undefined)?.some(({ type }) => type === 'string') ? 'string' : undefined;

/** Null counts as absent, so a nullable field cannot be required. */
function demanded(schema: Json): string[] | undefined {
  const { required, properties, additionalProperties } = schema as {
    required: string[];
    properties?: Record<string, Json>;
    additionalProperties?: Json;
  };
  if (additionalProperties?.nullable === true) return undefined;
  const left = required.filter((name) => ownField(properties, name)?.nullable !== true);
  return left.length === 0 ? undefined : left;
}

const pick = (object: Json, key: string): Json => (object[key] === undefined ? {} : { [key]: object[key] });

export const mapValues = <T>(object: Json, map: (value: Json) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value as Json)]));
