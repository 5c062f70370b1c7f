/** Checks that JSON Schema cannot express: unique items of sets and maps, and valid embedded objects. */
import { jsonEqual } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { isDNS1035Label } from '../resources/validation/names.ts';
import { itemKey, itemKeyValues, oldField, oldItems } from './correlate.ts';
import { childSchema } from './prune.ts';
import type { Schema } from './types.ts';

type Json = Record<string, unknown>;

/** An error that the old object has as well is ignored. */
export function validateListsAndResources(value: unknown, schema: Schema, old?: unknown): FieldError[] {
  return walk(value, schema, '', old);
}

function walk(value: unknown, schema: Schema, path: string, old: unknown): FieldError[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  if (Array.isArray(value)) {
    const oldOf = oldItems(old, schema);
    const items = value.flatMap((item, index) =>
      schema.items === undefined ? [] : walk(item, schema.items, `${path}[${index}]`, oldOf(item)),
    );
    return [...items, ...duplicates(value, schema, path)];
  }
  if (typeof value !== 'object' || value === null) return [];
  const object = value as Json;
  const errors = schema['x-kubernetes-embedded-resource'] === true ? checkResource(object, path) : [];
  for (const key of Object.keys(object)) {
    const child = childSchema(schema, key);
    if (typeof child !== 'object') continue;
    const isField = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    errors.push(
      ...walk(object[key], child, isField ? join(path, key) : `${path}[${key}]`, oldField(old, key)),
    );
  }
  return errors;
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Items of sets must differ, and items of maps must differ in their keys. */
function duplicates(items: unknown[], schema: Schema, path: string): FieldError[] {
  const keys = schema['x-kubernetes-list-map-keys'];
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'set' && (type !== 'map' || keys === undefined)) return [];
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, item] of items.entries()) {
    const key = keys === undefined ? JSON.stringify(item) : itemKey(item, keys, schema.items);
    if (seen.has(key)) {
      const shown = keys === undefined ? item : itemKeyValues(item, keys, schema.items);
      errors.push(fieldError.duplicate(`${path}[${index}]`, shown));
    }
    seen.add(key);
  }
  return errors;
}

function checkResource(object: Json, path: string): FieldError[] {
  return [
    ...checkName(object, path, 'apiVersion', (text) =>
      text.split('/').length > 2 ? `unexpected GroupVersion string: ${text}` : undefined,
    ),
    ...checkName(object, path, 'kind', (text) => {
      const problems = isDNS1035Label(text.toLowerCase());
      return problems.length === 0
        ? undefined
        : `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    }),
  ];
}

function checkName(
  object: Json,
  path: string,
  key: string,
  problemOf: (text: string) => string | undefined,
): FieldError[] {
  const field = join(path, key);
  const value = object[key];
  if (value === undefined) return [fieldError.required(field)];
  if (typeof value !== 'string') return [fieldError.invalid(field, value, 'must be a string')];
  const problem = value === '' ? 'must not be empty' : problemOf(value);
  return problem === undefined ? [] : [fieldError.invalid(field, value, problem)];
}
