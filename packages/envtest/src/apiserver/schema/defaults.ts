/** Defaults of structural schemas. A null that is not nullable counts as absent: it is defaulted or dropped. */
import { childSchema } from './prune.ts';
import type { Schema } from './types.ts';

type Json = Record<string, unknown>;

/** Modifies the value in place. */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) applyToItems(value, schema.items);
  else if (typeof value === 'object' && value !== null) applyToFields(value as Json, schema);
}

function applyToItems(items: unknown[], schema: Schema | undefined): void {
  if (schema === undefined) return;
  for (const [index, item] of items.entries()) {
    if (item === null && schema.nullable !== true && schema.default !== undefined) {
      items[index] = structuredClone(schema.default);
    }
    applyDefaults(items[index], schema);
  }
}

/**
 * Sets missing fields first and then visits all fields, so that the defaults inside a defaulted object apply as well.
 */
function applyToFields(object: Json, schema: Schema): void {
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && isMissing(object, key, property)) {
      object[key] = structuredClone(property.default);
    }
  }
  for (const key of Object.keys(object)) {
    const child = childSchema(schema, key);
    if (child === undefined || child === true) continue;
    if (object[key] === null && child.nullable !== true) {
      if (child.default === undefined) {
        delete object[key];
        continue;
      }
      object[key] = structuredClone(child.default);
    }
    applyDefaults(object[key], child);
  }
}

const isMissing = (object: Json, key: string, schema: Schema): boolean =>
  !Object.hasOwn(object, key) || (object[key] === null && schema.nullable !== true);
