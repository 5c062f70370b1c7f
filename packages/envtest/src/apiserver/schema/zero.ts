/** Zero values of Go: which of them are omitted from responses, and which appear although they were not set. */
import { structOf } from './builtin.ts';
import type { Schema } from './types.ts';

/** True for values that Go's `omitempty` omits. */
export function isZero(value: unknown, schema: Schema): boolean {
  if (value === '' || value === 0 || value === false) return schema.format !== 'int-or-string';
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object' || value === null || structOf(schema) !== undefined) return false;
  return schema.type === 'object' && typeof schema.additionalProperties === 'object' && isEmpty(value);
}

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** The zero value of an item or a map value, which cannot be omitted. */
export function zeroOf(schema: Schema): unknown {
  if (schema.format === 'quantity') return '0';
  if (schema.format === 'date-time' || schema.format === 'micro-time') return null;
  switch (schema.type) {
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'array':
      return null;
    case 'object':
      return zeroStruct(schema);
    default:
      return null;
  }
}

function zeroStruct(schema: Schema): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const field of structOf(schema)?.write ?? []) setZero(result, field, schema.properties?.[field]);
  return result;
}

/** Adds the zero value of a field that Go always writes. */
export function setZero(object: Record<string, unknown>, field: string, schema: Schema | undefined): void {
  // Defaulting must be able to see that a port was not set.
  if (schema === undefined || schema.format === 'int-or-string') return;
  object[field] = zeroOf(schema);
}
