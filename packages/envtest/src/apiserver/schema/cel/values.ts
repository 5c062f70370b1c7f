/** Converts JSON to CEL values by schema: integers become int; formats become timestamps, durations and bytes. */

import { setField } from '@tidegate/kube';
import type { Schema } from '../types.ts';
import { kubernetesEnvironment } from './environment.ts';

/** Reserved words of CEL. Fields with these names are written with underscores around them. */
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const ESCAPES: [RegExp, string][] = [
  [/__/g, '__underscores__'],
  [/\./g, '__dot__'],
  [/-/g, '__dash__'],
  [/\//g, '__slash__'],
];

/**
 * CEL identifiers cannot contain some characters that field names can. The escapes are those of the Kubernetes API.
 */
export function escapeName(name: string): string {
  if (RESERVED.has(name)) return `__${name}__`;
  return ESCAPES.reduce((text, [pattern, escaped]) => text.replace(pattern, escaped), name);
}

let durationOf: ((variables: Record<string, unknown>) => unknown) | undefined;

function toDuration(text: string): unknown {
  durationOf ??= kubernetesEnvironment().registerVariable('text', 'string').parse('duration(text)');
  return durationOf({ text });
}

/** `isRoot`: metadata.name and metadata.generateName are visible although the schema does not list them. */
export function toCel(value: unknown, schema: Schema, isRoot = false): unknown {
  if (Array.isArray(value)) {
    return schema.items === undefined
      ? toDynamic(value)
      : value.map((item) => toCel(item, schema.items ?? {}));
  }
  if (typeof value === 'object' && value !== null) {
    return objectToCel(value as Record<string, unknown>, schema, isRoot);
  }
  if (typeof value === 'number') return schema.type === 'number' ? value : numberToCel(value);
  if (typeof value === 'string') return stringToCel(value, schema.format);
  return value;
}

const META: Schema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/**
 * Only declared fields are visible to rules. Fields that the schema preserves without declaring them are not, unless
 * the whole object is free-form.
 */
function objectToCel(value: Record<string, unknown>, schema: Schema, isRoot: boolean): unknown {
  const result: Record<string, unknown> = {};
  const { properties, additionalProperties } = schema;
  if (properties === undefined && additionalProperties === undefined && !isRoot) {
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? toDynamic(value) : result;
  }
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  for (const [key, item] of Object.entries(value)) {
    if (isResource && key === 'metadata') result.metadata = toCel(item, META);
    else if (isResource && (key === 'apiVersion' || key === 'kind')) result[key] = item;
    else if (properties !== undefined && Object.hasOwn(properties, key)) {
      // A null field counts as absent.
      if (item !== null) setField(result, escapeName(key), toCel(item, properties[key] ?? {}));
    } else if (additionalProperties !== undefined && additionalProperties !== false) {
      setField(
        result,
        key,
        additionalProperties === true ? toDynamic(item) : toCel(item, additionalProperties),
      );
    }
  }
  return result;
}

const numberToCel = (value: number): bigint | number => (Number.isInteger(value) ? BigInt(value) : value);

function stringToCel(text: string, format: string | undefined): unknown {
  switch (format) {
    case 'date-time':
    case 'datetime':
      return new Date(text);
    case 'date':
      return new Date(`${text}T00:00:00Z`);
    case 'duration':
      return toDuration(text);
    case 'byte':
      return new Uint8Array(Buffer.from(text, 'base64'));
    default:
      return text;
  }
}

/** Conversion without a schema: integers become int, and names are not escaped. */
export function toDynamic(value: unknown): unknown {
  if (typeof value === 'number') return numberToCel(value);
  if (Array.isArray(value)) return value.map(toDynamic);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toDynamic(item)]));
}
