/** Checks each node of a schema for unsupported and contradicting keywords. */
import { ownField } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import type { Schema } from '../schema/types.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'];

/** Checks the whole schema, including combinations. The structure is checked in schema-checks.ts. */
export function checkKeywords(schema: Schema, path: string): FieldError[] {
  return check(schema, path, undefined);
}

/** `noDefaults` is the reason why a default is not allowed here. */
function check(schema: Schema, path: string, noDefaults: string | undefined, isRoot = true): FieldError[] {
  const errors = [...checkSupported(schema, path, noDefaults)];
  const { properties = {}, additionalProperties, items } = schema;
  if (schema.uniqueItems === true) {
    errors.push(
      fieldError.forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  }
  if (
    additionalProperties !== undefined &&
    additionalProperties !== true &&
    Object.keys(properties).length > 0
  ) {
    errors.push(
      fieldError.forbidden(
        `${path}.additionalProperties`,
        'additionalProperties and properties are mutual exclusive',
      ),
    );
  }
  if (typeof additionalProperties === 'object') {
    errors.push(...check(additionalProperties, `${path}.additionalProperties`, noDefaults, false));
  }
  for (const [key, property] of Object.entries(properties)) {
    const isMeta = isRoot && ['metadata', 'kind', 'apiVersion'].includes(key);
    errors.push(
      ...check(property, `${path}.properties[${key}]`, isMeta ? `in top-level ${key}` : noDefaults, false),
    );
  }
  for (const key of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [i, nested] of (schema[key] ?? []).entries()) {
      errors.push(...check(nested, `${path}.${key}[${i}]`, noDefaults, false));
    }
  }
  if (schema.not !== undefined) errors.push(...check(schema.not, `${path}.not`, noDefaults, false));
  if (items !== undefined && !Array.isArray(items)) {
    errors.push(...check(items, `${path}.items`, noDefaults, false));
  }
  return [...errors, ...checkExtensions(schema, path), ...checkListMap(schema, path)];
}

function checkSupported(schema: Schema, path: string, noDefaults: string | undefined): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.type !== undefined && !TYPES.includes(schema.type)) {
    errors.push(fieldError.notSupported(`${path}.type`, schema.type, TYPES));
  }
  if (schema.default !== undefined && noDefaults !== undefined) {
    errors.push(fieldError.forbidden(`${path}.default`, `must not be set ${noDefaults}`));
  }
  for (const keyword of UNSUPPORTED) {
    if (keyword in schema)
      errors.push(fieldError.forbidden(`${path}.${keyword}`, `${keyword} is not supported`));
  }
  if (Array.isArray(schema.items)) {
    errors.push(fieldError.forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  return errors;
}

function checkExtensions(schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const listType = schema['x-kubernetes-list-type'];
  const mapType = schema['x-kubernetes-map-type'];
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(
      fieldError.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'),
    );
  }
  const needsType = (wanted: string, keyword: string): void => {
    const detail = `must be ${wanted} if ${keyword} is specified`;
    if (schema.type === undefined) errors.push(fieldError.required(`${path}.type`, detail));
    else if (schema.type !== wanted) errors.push(fieldError.invalid(`${path}.type`, schema.type, detail));
  };
  if (mapType !== undefined) {
    needsType('object', 'x-kubernetes-map-type');
    if (!['atomic', 'granular'].includes(mapType)) {
      errors.push(fieldError.notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
    }
  }
  if (listType !== undefined) {
    needsType('array', 'x-kubernetes-list-type');
    if (listType === 'set') errors.push(...checkSetItems(schema.items, path));
    if (!['atomic', 'set', 'map'].includes(listType)) {
      errors.push(
        fieldError.notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']),
      );
    }
  }
  return errors;
}

function checkSetItems(items: Schema | undefined, path: string): FieldError[] {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (items?.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    return [fieldError.invalid(`${path}.items.x-kubernetes-map-type`, null, detail)];
  }
  const listType = items?.['x-kubernetes-list-type'];
  if (items?.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [fieldError.invalid(`${path}.items.x-kubernetes-list-type`, listType, detail)];
  }
  return [];
}

/** The keys of a list of type map identify its items, so they must be scalars that every item has. */
function checkListMap(schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const keysField = `${path}.x-kubernetes-list-map-keys`;
  const { items } = schema;
  if (keys.length > 0 && type !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const field = `${path}.x-kubernetes-list-type`;
    errors.push(
      type === undefined ? fieldError.required(field, detail) : fieldError.invalid(field, type, detail),
    );
  }
  if ((type === 'map' || type === 'set') && items?.nullable === true) {
    errors.push(
      fieldError.forbidden(
        `${path}.items.nullable`,
        `cannot be nullable when x-kubernetes-list-type is ${type}`,
      ),
    );
  }
  if (type !== 'map') return errors;
  if (keys.length === 0) {
    errors.push(fieldError.required(keysField, 'must not be empty if x-kubernetes-list-type is map'));
  }
  if (items === undefined) {
    errors.push(fieldError.required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
    return errors;
  }
  if (items.type !== 'object') {
    errors.push(
      fieldError.invalid(
        `${path}.items.type`,
        items.type ?? '',
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    );
    return errors;
  }
  for (const key of keys) errors.push(...checkKey(key, keys, items, path));
  if (new Set(keys).size < keys.length) {
    errors.push(fieldError.invalid(keysField, keys, 'must not contain duplicate entries'));
  }
  return errors;
}

function checkKey(key: string, keys: string[], items: Schema, path: string): FieldError[] {
  const property = ownField(items.properties, key);
  if (property === undefined) {
    const detail = 'entries must all be names of item properties';
    return [fieldError.invalid(`${path}.x-kubernetes-list-map-keys`, keys, detail)];
  }
  const errors: FieldError[] = [];
  const at = `${path}.items.properties[${key}]`;
  if (property.type === 'array' || property.type === 'object') {
    errors.push(
      fieldError.invalid(
        `${at}.type`,
        items.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      ),
    );
  }
  if (!items.required?.includes(key) && property.default === undefined) {
    errors.push(
      fieldError.required(
        `${at}.default`,
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      ),
    );
  }
  if (property.nullable === true) {
    errors.push(
      fieldError.forbidden(
        `${at}.nullable`,
        'this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      ),
    );
  }
  return errors;
}
