import type { Schema } from '../api/schema.ts';

interface Misfit {
  path: string;
  message: string;
}

/**
 * Where a document is not of the shape that its kind has. The API server says so too; this is for those who have none
 * at hand. A field that is not known is told as well: the server would drop it, and nobody would know why nothing happens.
 */
export function misfits(schema: Schema, value: unknown, path = ''): Misfit[] {
  if (value === null || value === undefined) return [];
  if (schema['x-kubernetes-int-or-string'] === true) return [];
  if (!fits(schema.type, value)) return [{ path, message: `this must be ${NAMES[schema.type ?? 'object']}` }];
  if (schema.enum !== undefined && !schema.enum.includes(String(value)))
    return [{ path, message: `${JSON.stringify(value)} is none of ${schema.enum.join(', ')}` }];
  if (Array.isArray(value))
    return value.flatMap((item, index) => misfits(schema.items ?? {}, item, `${path}[${index}]`));
  return typeof value === 'object' ? inFields(schema, value as Record<string, unknown>, path) : [];
}

function inFields(schema: Schema, value: Record<string, unknown>, path: string): Misfit[] {
  const at = (field: string): string => (path === '' ? field : `${path}.${field}`);
  const missing = (schema.required ?? []).filter((field) => value[field] === undefined);
  const isOpen = schema.properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return [
    ...missing.map((field) => ({ path: at(field), message: 'this is needed' })),
    ...Object.entries(value).flatMap(([field, child]) => {
      const known = schema.properties?.[field] ?? schema.additionalProperties;
      if (known !== undefined) return misfits(known, child, at(field));
      return isOpen ? [] : [{ path: at(field), message: 'there is no such field' }];
    }),
  ];
}

const NAMES = {
  object: 'a map',
  array: 'a list',
  string: 'text: put it in quotes',
  integer: 'a whole number',
  boolean: 'true or false',
};

function fits(type: Schema['type'], value: unknown): boolean {
  switch (type) {
    case undefined:
      return true;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
