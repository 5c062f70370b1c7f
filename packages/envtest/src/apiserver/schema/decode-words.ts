/**
 * Descriptions of wrong types. Go's JSON decoder reads bodies, JSON patches and merge patches. The result of a
 * strategic merge patch is not text but a map, and Go's converter from maps to structs has different messages.
 */
import { jsonType } from './body.ts';
import { structOf } from './builtin.ts';
import type { Schema } from './types.ts';

export type DecodeWords = 'json' | 'converter';

export interface WrongType {
  value: unknown;
  schema: Schema;
  /** Go's name of the expected type, for example `int32`, `v1.Protocol` or `[]v1.Container`. */
  type: string;
  /** For example `DeploymentSpec.spec.replicas`. */
  field: string;
}

export function wrongType(words: DecodeWords, wrong: WrongType): string {
  return words === 'json' ? unmarshal(wrong.value, `struct field ${wrong.field}`, wrong) : convert(wrong);
}

const unmarshal = (value: unknown, into: string, { type, schema }: WrongType): string =>
  `json: cannot unmarshal ${whatItIs(value, schema)} into Go ${into} of type ${type}`;

/** A number that is out of range is part of the message. */
const whatItIs = (value: unknown, { format, type }: Schema): string =>
  typeof value === 'number' && (type === 'integer' || format === 'int-or-string')
    ? `number ${value}`
    : jsonType(value);

const READ_AS_JSON = new Set(['int-or-string', 'date-time', 'micro-time']);

function convert(wrong: WrongType): string {
  const { value, schema, type } = wrong;
  const kind = kindOf(value);
  if (READ_AS_JSON.has(schema.format ?? '')) return unmarshal(value, 'value', wrong);
  if (schema.type === 'array' || schema.format === 'byte') return `cannot restore slice from ${kind}`;
  if (schema.type === 'object') {
    return structOf(schema) === undefined
      ? `cannot restore map from ${kind}`
      : `cannot restore struct from: ${kind}`;
  }
  // Go can convert between all number types, and even integers to strings, so the message names the conversion.
  if (schema.type === 'string') {
    return kind === 'int64' ? `cannot convert int64 to ${type}` : 'unrecognized type: string';
  }
  return kind === 'float64' && type !== 'bool'
    ? `cannot convert float64 to ${type}`
    : `unrecognized type: ${type}`;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'object' ? 'map' : jsonType(value);
}
