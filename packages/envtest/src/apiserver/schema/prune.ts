/** Removes the fields of a custom resource that its schema does not declare. */
import type { Schema } from './types.ts';

type Json = Record<string, unknown>;

/** Every object has these fields, whether its schema declares them or not. */
const META_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/** Modifies the object in place and returns the sorted paths of the removed fields. */
export function prune(object: Json, schema: Schema): string[] {
  const removed: string[] = [];
  pruneValue(object, { ...schema, 'x-kubernetes-embedded-resource': true }, '', removed);
  return removed.sort();
}

function pruneValue(value: unknown, schema: Schema | undefined, path: string, removed: string[]): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      pruneValue(item, schema?.items, `${path}[${index}]`, removed);
  } else if (typeof value === 'object' && value !== null) {
    pruneObject(value as Json, schema, path, removed);
  }
}

/**
 * `x-kubernetes-preserve-unknown-fields` keeps undeclared fields of this object only. Declared fields below it are
 * pruned by their own schema again.
 */
function pruneObject(object: Json, schema: Schema | undefined, path: string, removed: string[]): void {
  const preserve = schema?.['x-kubernetes-preserve-unknown-fields'] === true;
  const isResource = schema?.['x-kubernetes-embedded-resource'] === true;
  for (const key of Object.keys(object)) {
    if (isResource && META_FIELDS.has(key)) continue;
    const keyPath = path === '' ? key : `${path}.${key}`;
    const child = childSchema(schema, key);
    if (child === undefined) {
      if (preserve) continue;
      removed.push(keyPath);
      delete object[key];
    } else if (child !== true) {
      pruneValue(object[key], child, keyPath, removed);
    }
  }
}

/** Returns undefined if the field does not exist, and true if it exists without a schema. */
export function childSchema(schema: Schema | undefined, key: string): Schema | true | undefined {
  if (schema?.properties !== undefined && Object.hasOwn(schema.properties, key))
    return schema.properties[key];
  const { additionalProperties } = schema ?? {};
  return additionalProperties === false ? undefined : additionalProperties;
}
