/** Decodes a protobuf message to the JSON of its type. The schema has the type of a field, FIELD_NUMBERS its number. */
import { type JsonMap, setField } from '@tidegate/kube';
import {
  Reader,
  readEmbeddedJson,
  readIntOrString,
  readTime,
  readWrappedText,
  WireError,
} from '@tidegate/kube/protobuf';
import { structOf } from '../schema/builtin.ts';
import type { Schema } from '../schema/types.ts';
import { FIELD_NUMBERS } from './field-numbers.ts';

const NOTHING = Buffer.alloc(0);

/** Decodes the message that starts at the next field. */
export function decodeFields(reader: Reader, schema: Schema): JsonMap {
  const definition = structOf(schema)?.definition;
  if (definition === undefined) throw new WireError('a type has no field numbers');
  const dot = definition.lastIndexOf('.');
  const object: JsonMap = {};
  decodeInto(object, reader, schema, definition.slice(0, dot), definition.slice(dot + 1));
  return object;
}

/** Runs `read` inside the message in the current field. */
function inside<T>(reader: Reader, read: () => T): T {
  const outer = reader.enter();
  const result = read();
  reader.leave(outer);
  return result;
}

function decodeInto(object: JsonMap, reader: Reader, schema: Schema, scope: string, type: string): void {
  const names = fieldNames(scope, type);
  while (reader.next()) {
    const name = names.get(reader.number);
    // Newer clients may send fields that this version does not know, as they may in JSON.
    if (name === undefined) continue;
    if (name.startsWith('>')) inside(reader, () => decodeInto(object, reader, schema, scope, name.slice(1)));
    else addField(object, name, reader, schema.properties?.[name]);
  }
}

function addField(object: JsonMap, name: string, reader: Reader, schema: Schema | undefined): void {
  if (schema === undefined) return;
  if (schema.type === 'array') {
    const list = (object[name] ?? []) as unknown[];
    list.push(decodeValue(reader, schema.items ?? {}));
    object[name] = list;
    return;
  }
  if (typeof schema.additionalProperties === 'object') {
    const map = (object[name] ?? {}) as JsonMap;
    addEntry(map, reader, schema.additionalProperties);
    object[name] = map;
    return;
  }
  object[name] = decodeValue(reader, schema);
}

function decodeValue(reader: Reader, schema: Schema): unknown {
  switch (schema.format) {
    case 'date-time':
    case 'micro-time':
      return readTime(reader, 'if set') ?? null;
    case 'quantity':
      return readWrappedText(reader);
    case 'int-or-string':
      return readIntOrString(reader);
    case 'byte':
      return reader.content().toString('base64');
  }
  switch (schema.type) {
    case 'string':
      return reader.text();
    case 'boolean':
      return reader.scalar !== 0;
    case 'integer':
    case 'number':
      return reader.scalar;
    case 'array':
      return wrappedList(reader, schema.items ?? {});
    default:
      if (schema['x-kubernetes-preserve-unknown-fields']) return readEmbeddedJson(reader);
      return inside(reader, () => decodeFields(reader, schema));
  }
}

/** The wire format has no lists inside maps: such a list is wrapped into a message. */
function wrappedList(reader: Reader, items: Schema): unknown[] {
  const list: unknown[] = [];
  inside(reader, () => {
    while (reader.next()) list.push(decodeValue(reader, items));
  });
  return list;
}

/** A map is a repeated message of key and value. A value that was not sent is the zero value of its type. */
function addEntry(map: JsonMap, reader: Reader, schema: Schema): void {
  let key = '';
  let value = decodeValue(new Reader(NOTHING), schema);
  inside(reader, () => {
    while (reader.next()) {
      if (reader.number === 1) key = reader.text();
      else value = decodeValue(reader, schema);
    }
  });
  setField(map, key, value);
}

const tables = new Map<string, Map<number, string>>();

function fieldNames(scope: string, type: string): Map<number, string> {
  const key = `${scope}.${type}`;
  const known = tables.get(key);
  if (known !== undefined) return known;
  const line = FIELD_NUMBERS[scope]?.[type];
  if (line === undefined) throw new WireError(`the field numbers of ${key} are unknown`);
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
