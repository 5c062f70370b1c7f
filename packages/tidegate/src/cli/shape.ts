import { ownField } from '@tidegate/kube';
import type { Schema } from '../api/schema.ts';

interface ShapeProblem {
  path: string;
  message: string;
}

/**
 * Validates a document against the schema of its kind, for commands that run without an API server. Also reports unknown
 * fields, which an API server would drop silently.
 */
export function shapeProblems(schema: Schema, value: unknown, path = ''): ShapeProblem[] {
  if (value === null || value === undefined) return [];
  if (schema['x-kubernetes-int-or-string'] === true) return [];
  if (!fits(schema.type, value)) return [{ path, message: `must be ${NAMES[schema.type ?? 'object']}` }];
  if (schema.enum !== undefined && !schema.enum.includes(String(value)))
    return [
      {
        path,
        message: `unsupported value ${JSON.stringify(value)}; supported values: ${schema.enum.join(', ')}`,
      },
    ];
  if (Array.isArray(value))
    return value.flatMap((item, index) => shapeProblems(schema.items ?? {}, item, `${path}[${index}]`));
  return typeof value === 'object' ? inFields(schema, value as Record<string, unknown>, path) : [];
}

function inFields(schema: Schema, value: Record<string, unknown>, path: string): ShapeProblem[] {
  const at = (field: string): string => (path === '' ? field : `${path}.${field}`);
  const missing = (schema.required ?? []).filter((field) => ownField(value, field) === undefined);
  const isOpen = schema.properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return [
    ...missing.map((field) => ({ path: at(field), message: 'required value' })),
    ...Object.entries(value).flatMap(([field, child]) => {
      const known = ownField(schema.properties, field) ?? schema.additionalProperties;
      if (known !== undefined) return shapeProblems(known, child, at(field));
      return isOpen ? [] : [{ path: at(field), message: 'unknown field' }];
    }),
  ];
}

const NAMES = {
  object: 'a map',
  array: 'a list',
  string: 'a string: put it in quotes',
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
