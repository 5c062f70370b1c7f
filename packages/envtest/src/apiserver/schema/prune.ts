/** Removes from a custom resource what its schema does not mention. */
import type { Schema } from './types.ts';

type Json = Record<string, unknown>;

const META_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/** Changes the object in place and returns the paths of what it removed, sorted. */
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

/** Undefined: there is no such field. True: there is, and nothing is known about it. */
export function childSchema(schema: Schema | undefined, key: string): Schema | true | undefined {
  if (schema?.properties !== undefined && Object.hasOwn(schema.properties, key))
    return schema.properties[key];
  const { additionalProperties } = schema ?? {};
  return additionalProperties === false ? undefined : additionalProperties;
}
