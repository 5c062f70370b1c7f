/** Decodes protobuf messages into the JSON that the API server would have sent. */
import { type JsonMap, setField } from '../base/json.ts';
import { Reader, WireError } from './reader.ts';
import type { FieldType, MessageType, Scalar } from './types.ts';
import { readEmbeddedJson, readIntOrString, readTime } from './values.ts';

const NOTHING = Buffer.alloc(0);

/** What to do with fields that are missing from our tables, for example those of a newer Kubernetes version. */
export type Unknown = 'drop' | 'reject';

/** Decodes the message in the current field. */
export function decodeMessage(reader: Reader, type: MessageType, unknown: Unknown): JsonMap {
  const outer = reader.enter();
  const object = decodeFields(reader, type, unknown);
  reader.leave(outer);
  return object;
}

/** Decodes the message that starts at the next field. */
export function decodeFields(reader: Reader, type: MessageType, unknown: Unknown): JsonMap {
  const object: JsonMap = {};
  while (reader.next()) {
    const field = type.fields[reader.number];
    if (field !== undefined) addField(object, field, reader, unknown);
    else if (unknown === 'reject')
      throw new WireError(`${type.name} has the unknown field number ${reader.number}`);
  }
  for (const field of type.always) if (object[field.name] === undefined) object[field.name] = emptyOf(field);
  return object;
}

function addField(object: JsonMap, field: FieldType, reader: Reader, unknown: Unknown): void {
  const { name } = field;
  if (field.type === 'map') {
    object[name] = addEntry((object[name] as JsonMap | undefined) ?? {}, reader);
    return;
  }
  const value =
    typeof field.type === 'string'
      ? scalarOf(field.type, reader)
      : decodeMessage(reader, field.type, unknown);
  if (field.repeated) {
    const list = object[name] as unknown[] | undefined;
    if (list === undefined) object[name] = [value];
    else list.push(value);
  } else if (field.pointer || field.always || !isZero(value)) object[name] = value;
}

/** Go leaves these out of JSON when the field has `omitempty`. */
const isZero = (value: unknown): boolean =>
  value === '' || value === 0 || value === false || value === undefined;

function emptyOf({ type, repeated }: FieldType): unknown {
  if (repeated) return null;
  if (typeof type !== 'string') return decodeFields(new Reader(NOTHING), type, 'drop');
  switch (type) {
    case 'int':
    case 'intstr':
      return 0;
    case 'time':
    case 'micro':
      return null;
    default:
      return '';
  }
}

function scalarOf(type: Scalar, reader: Reader): unknown {
  switch (type) {
    case 'string':
      return reader.text();
    case 'int':
      return reader.scalar;
    case 'bool':
      return reader.scalar !== 0;
    case 'time':
      return readTime(reader, 'never');
    case 'micro':
      return readTime(reader, 'always');
    case 'intstr':
      return readIntOrString(reader);
    case 'json':
      return readEmbeddedJson(reader);
    case 'map':
      throw new WireError('a list of maps is not supported');
  }
}

/** A map is a repeated message of key and value. */
function addEntry(map: JsonMap, reader: Reader): JsonMap {
  let key = '';
  let value = '';
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) key = reader.text();
    else if (reader.number === 2) value = reader.text();
  }
  reader.leave(outer);
  setField(map, key, value);
  return map;
}
