/**
 * The part of a schema that structured merging needs, compiled once: whether a value is a scalar, a list (atomic, a
 * set, or a map by keys) or a map (atomic or granular). Values of unknown type are treated by their shape: maps are
 * granular and lists are atomic. The terms are those of sigs.k8s.io/structured-merge-diff.
 */
import { resolveDefinition, structOf } from '../schema/builtin.ts';
import type { Schema } from '../schema/types.ts';
import { fieldElement } from './path-element.ts';

export type ScalarType = 'numeric' | 'string' | 'boolean' | 'untyped';

/** At least one of the three is set. A value of unknown type may be any of them. */
export interface FieldType {
  scalar?: ScalarType;
  list?: ListType;
  map?: MapType;
}

/** `set` and `map` are the associative lists: several managers can own different items of one list. */
export interface ListType {
  relation: 'atomic' | 'set' | 'map';
  /** Sorted. Only for `map`. */
  keys: readonly string[];
  items: FieldType;
}

/** In an atomic map, one manager owns all keys together. */
export interface MapType {
  atomic: boolean;
  fields: ReadonlyMap<string, Field>;
  /** Type of the keys that are not in `fields`; undefined if such keys are not allowed. */
  values: FieldType | undefined;
}

/** A declared field. `element` is its path element, computed once. */
export interface Field {
  element: string;
  type: FieldType;
  /** Replaces the field in the key of a list item that does not have it. */
  keyDefault: unknown;
  /** Value of the field when it is not written; undefined for fields that may be absent. See `zeroOf`. */
  zero: unknown;
}

const NO_FIELDS: ReadonlyMap<string, Field> = new Map();

/** The type of values that are only compared as a whole. */
const OPAQUE: FieldType = { scalar: 'untyped' };
OPAQUE.list = { relation: 'atomic', keys: [], items: OPAQUE };
OPAQUE.map = { atomic: true, fields: NO_FIELDS, values: OPAQUE };

/** The type of values without a schema. Maps below it are granular; lists are atomic. */
export const DEDUCED: FieldType = { scalar: 'untyped' };
DEDUCED.list = { relation: 'atomic', keys: [], items: OPAQUE };
DEDUCED.map = { atomic: false, fields: NO_FIELDS, values: DEDUCED };

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const RAW_EXTENSION = 'io.k8s.apimachinery.pkg.runtime.RawExtension';

/** Types by schema. A changed CRD has new schema objects, so entries are never stale and old ones are collected. */
const objectTypes = new WeakMap<Schema, FieldType>();

/**
 * The type of a whole object. Schemas of custom resources do not describe metadata, which is the same for all
 * objects.
 */
export function objectType(schema: Schema): FieldType {
  const known = objectTypes.get(schema);
  if (known !== undefined) return known;
  const type = compile(withObjectMeta(schema), false);
  objectTypes.set(schema, type);
  return type;
}

function withObjectMeta(schema: Schema): Schema {
  if (schema.properties?.metadata?.properties !== undefined) return schema;
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: resolveDefinition(OBJECT_META),
    },
  };
}

/** Two caches, because the same schema allows unknown keys below one parent and forbids them below another. */
const strictTypes = new WeakMap<Schema, FieldType>();
const preservingTypes = new WeakMap<Schema, FieldType>();

/** `preserving`: a schema above keeps unknown fields, which applies to everything below it. */
function compile(schema: Schema, preserving: boolean): FieldType {
  const preserves = preserving || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const memo = preserves ? preservingTypes : strictTypes;
  const known = memo.get(schema);
  if (known !== undefined) return known;
  // Stored before it is filled, because schemas can be recursive.
  const type: FieldType = {};
  memo.set(schema, type);
  return Object.assign(type, typeOf(schema, preserves));
}

function typeOf(schema: Schema, preserves: boolean): FieldType {
  if (schema === resolveDefinition(RAW_EXTENSION)) return OPAQUE;
  if (schema['x-kubernetes-int-or-string'] === true) return { scalar: 'untyped' };
  switch (schema.type) {
    case 'object':
      return { map: mapType(schema, preserves) };
    case 'array':
      return { list: listType(schema, preserves) };
    case 'integer':
    case 'number':
      return { scalar: 'numeric' };
    case 'boolean':
      return { scalar: 'boolean' };
    case 'string':
      return { scalar: schema.format === undefined || schema.format === 'byte' ? 'string' : 'untyped' };
    default:
      if (schema.format !== undefined) return { scalar: 'untyped' };
      return { scalar: 'untyped', list: listType(schema, preserves), map: mapType(schema, preserves) };
  }
}

function listType(schema: Schema, preserves: boolean): ListType {
  const items = schema.items === undefined ? OPAQUE : compile(schema.items, preserves);
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  switch (schema['x-kubernetes-list-type']) {
    case 'map':
      return { relation: 'map', keys: [...keys].sort(), items };
    case 'set':
      return { relation: 'set', keys: [], items };
    case 'atomic':
      return { relation: 'atomic', keys: [], items };
    default:
      return { ...relationByPatchStrategy(schema), items };
  }
}

/** Built-in lists that are older than list types declare their merge behavior as a patch strategy. */
function relationByPatchStrategy(schema: Schema): Pick<ListType, 'relation' | 'keys'> {
  const merges = schema['x-kubernetes-patch-strategy']?.split(',').includes('merge') ?? false;
  const key = schema['x-kubernetes-patch-merge-key'];
  if (!merges) return { relation: 'atomic', keys: [] };
  return key === undefined ? { relation: 'set', keys: [] } : { relation: 'map', keys: [key] };
}

function mapType(schema: Schema, preserves: boolean): MapType {
  const properties = schema['x-kubernetes-embedded-resource']
    ? withObjectMeta(schema).properties
    : schema.properties;
  const fields = new Map<string, Field>();
  for (const [name, property] of Object.entries(properties ?? {})) {
    const type = compile(property, preserves);
    const zero = zeroOf(schema, name, type);
    fields.set(name, { element: fieldElement(name), type, keyDefault: property.default ?? zero, zero });
  }
  return {
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    fields,
    values: valuesType(schema, fields.size, preserves),
  };
}

const ZERO_SCALARS: Record<ScalarType, unknown> = { string: '', numeric: 0, boolean: false, untyped: null };

/**
 * In Go, a struct always has its struct fields, so an object of a built-in kind always has a `spec`, even if it is
 * empty. Clients cannot add or remove such a field and therefore never own it: fieldsV1 has `f:spec` without `.`. A
 * required field that Go holds as a pointer is null at first, which has the same effect. Custom resources have no
 * such fields.
 */
function zeroOf(owner: Schema, name: string, type: FieldType): unknown {
  const struct = structOf(owner);
  if (struct === undefined) return undefined;
  if (struct.write.includes(name)) {
    return type.scalar === undefined ? (type.map === undefined ? null : {}) : ZERO_SCALARS[type.scalar];
  }
  return owner.required?.includes(name) ? null : undefined;
}

function valuesType(schema: Schema, fieldCount: number, preserves: boolean): FieldType | undefined {
  const additional = schema.additionalProperties;
  if (typeof additional === 'object') return compile(additional, preserves);
  if (additional === false) return undefined;
  return additional === true || preserves || fieldCount === 0 ? DEDUCED : undefined;
}

/** The three ways in which structured merge treats a value. */
export type Shape = 'scalar' | 'list' | 'map';

/** Selects the shape of the type as which the value is treated. */
export function shapeOf(type: FieldType, value: unknown): Shape {
  if (Array.isArray(value)) {
    if (type.list !== undefined) return 'list';
  } else if (typeof value === 'object') {
    if (value !== null && type.map !== undefined) return 'map';
  } else if (type.scalar !== undefined) {
    return 'scalar';
  }
  if (type.map !== undefined) return 'map';
  return type.scalar === undefined ? 'list' : 'scalar';
}
