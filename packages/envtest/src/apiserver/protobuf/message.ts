/** A protobuf message to the JSON of its type: the schema says what a field is, FIELD_NUMBERS which one it is. */
import { structOf } from '../schema/builtin.ts';
import type { Schema } from '../schema/types.ts';
import { FIELD_NUMBERS } from './field-numbers.ts';
import { type Field, readFields, toInteger, WireError } from './wire.ts';

type Json = Record<string, unknown>;

export function decodeMessage(bytes: Buffer, schema: Schema): Json {
  const definition = structOf(schema)?.definition;
  if (definition === undefined) throw new WireError('a type without field numbers');
  const dot = definition.lastIndexOf('.');
  const object: Json = {};
  decodeInto(object, bytes, schema, definition.slice(0, dot), definition.slice(dot + 1));
  return object;
}

function decodeInto(object: Json, bytes: Buffer, schema: Schema, scope: string, type: string): void {
  const names = fieldNames(scope, type);
  for (const field of readFields(bytes)) {
    const name = names.get(field.number);
    // Newer clients may send fields that this version does not know, as they may in JSON.
    if (name === undefined) continue;
    if (name.startsWith('>')) decodeInto(object, field.bytes, schema, scope, name.slice(1));
    else addField(object, name, field, schema.properties?.[name]);
  }
}

function addField(object: Json, name: string, field: Field, schema: Schema | undefined): void {
  if (schema === undefined) return;
  if (schema.type === 'array') {
    const list = (object[name] ?? []) as unknown[];
    list.push(decodeValue(field, schema.items ?? {}));
    object[name] = list;
    return;
  }
  if (typeof schema.additionalProperties === 'object') {
    const map = (object[name] ?? {}) as Json;
    const { key, value } = decodeEntry(field.bytes, schema.additionalProperties);
    Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true });
    object[name] = map;
    return;
  }
  object[name] = decodeValue(field, schema);
}

function decodeValue(field: Field, schema: Schema): unknown {
  const { bytes, scalar } = field;
  switch (schema.format) {
    case 'date-time':
    case 'micro-time':
      return decodeTime(bytes);
    case 'quantity':
      return firstText(bytes);
    case 'int-or-string':
      return decodeIntOrString(bytes);
    case 'byte':
      return bytes.toString('base64');
  }
  switch (schema.type) {
    case 'string':
      return bytes.toString('utf8');
    case 'boolean':
      return toInteger(scalar) !== 0;
    case 'integer':
    case 'number':
      return toInteger(scalar);
    case 'array':
      // A list inside a map has no place of its own on the wire: it is wrapped into a message.
      return [...readFields(bytes)].map((item) => decodeValue(item, schema.items ?? {}));
    default:
      return schema['x-kubernetes-preserve-unknown-fields'] ? decodeRaw(bytes) : decodeMessage(bytes, schema);
  }
}

function decodeEntry(bytes: Buffer, schema: Schema): { key: string; value: unknown } {
  let key = '';
  let value = decodeValue({ number: 2, scalar: 0n, bytes: Buffer.alloc(0) }, schema);
  for (const field of readFields(bytes)) {
    if (field.number === 1) key = field.bytes.toString('utf8');
    else value = decodeValue(field, schema);
  }
  return { key, value };
}

/** Seconds and nanoseconds; a zero time is no time. */
function decodeTime(bytes: Buffer): string | null {
  let seconds = 0;
  let nanos = 0;
  for (const { number, scalar } of readFields(bytes)) {
    if (number === 1) seconds = toInteger(scalar);
    else nanos = toInteger(scalar);
  }
  if (bytes.length === 0) return null;
  const time = new Date(seconds * 1000).toISOString().slice(0, 19);
  return nanos === 0 ? `${time}Z` : `${time}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
}

function firstText(bytes: Buffer): string {
  for (const field of readFields(bytes)) return field.bytes.toString('utf8');
  return '';
}

function decodeIntOrString(bytes: Buffer): number | string {
  let type = 0;
  let number = 0;
  let text = '';
  for (const field of readFields(bytes)) {
    if (field.number === 1) type = toInteger(field.scalar);
    else if (field.number === 2) number = toInteger(field.scalar);
    else text = field.bytes.toString('utf8');
  }
  return type === 0 ? number : text;
}

/** RawExtension and FieldsV1 carry JSON. */
function decodeRaw(bytes: Buffer): unknown {
  const text = firstText(bytes);
  try {
    return text === '' ? null : JSON.parse(text);
  } catch (cause) {
    throw new WireError(`embedded JSON can not be read: ${(cause as Error).message}`);
  }
}

const tables = new Map<string, Map<number, string>>();

function fieldNames(scope: string, type: string): Map<number, string> {
  const key = `${scope}.${type}`;
  const known = tables.get(key);
  if (known !== undefined) return known;
  const line = FIELD_NUMBERS[scope]?.[type];
  if (line === undefined) throw new WireError(`no field numbers of ${key} are known`);
  const names = new Map<number, string>();
  let number = 0;
  for (const token of line.split(' ').filter((t) => t !== '')) {
    const [first = '', second] = token.split('=');
    number = second === undefined ? number + 1 : Number(first);
    names.set(number, second ?? first);
  }
  tables.set(key, names);
  return names;
}
