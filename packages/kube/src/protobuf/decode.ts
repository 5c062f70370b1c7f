/** Protobuf messages to the JSON that the API server would have sent. */
import { Reader, WireError } from './reader.ts';
import type { FieldType, MessageType, Scalar } from './types.ts';

export type Json = Record<string, unknown>;

const NOTHING = Buffer.alloc(0);

/** What to do about fields that are not known here, as those of a newer version: read past them, or give up. */
export type Unknown = 'drop' | 'refuse';

/** The message that the field last read holds. */
export function decodeMessage(reader: Reader, type: MessageType, unknown: Unknown): Json {
  const outer = reader.enter();
  const object = decodeFields(reader, type, unknown);
  reader.leave(outer);
  return object;
}

/** The message whose first field comes next. */
export function decodeFields(reader: Reader, type: MessageType, unknown: Unknown): Json {
  const object: Json = {};
  while (reader.next()) {
    const field = type.fields[reader.number];
    if (field !== undefined) addField(object, field, reader, unknown);
    else if (unknown === 'refuse')
      throw new WireError(`${type.name} has a field ${reader.number}, which is not known here`);
  }
  for (const field of type.always) if (object[field.name] === undefined) object[field.name] = emptyOf(field);
  return object;
}

function addField(object: Json, field: FieldType, reader: Reader, unknown: Unknown): void {
  const { name } = field;
  if (field.type === 'map') {
    object[name] = addEntry((object[name] as Json | undefined) ?? {}, reader);
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
      return timeOf(reader, false);
    case 'micro':
      return timeOf(reader, true);
    case 'intstr':
      return intOrString(reader);
    case 'json':
      return embeddedJson(reader);
    case 'map':
      throw new WireError('a map inside a list is not in use');
  }
}

/** A name such as `__proto__` is data like any other. */
function addEntry(map: Json, reader: Reader): Json {
  let key = '';
  let value = '';
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) key = reader.text();
    else if (reader.number === 2) value = reader.text();
  }
  reader.leave(outer);
  if (key === '__proto__') Object.defineProperty(map, key, { value, enumerable: true, configurable: true });
  else map[key] = value;
  return map;
}

/** Seconds and nanoseconds; an empty message is no time. */
function timeOf(reader: Reader, fraction: boolean): string | undefined {
  if (reader.from === reader.to) return undefined;
  let seconds = 0;
  let nanos = 0;
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) seconds = reader.scalar;
    else if (reader.number === 2) nanos = reader.scalar;
  }
  reader.leave(outer);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError('a time is out of range');
  const text = date.toISOString().slice(0, 19);
  return fraction ? `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${text}Z`;
}

function intOrString(reader: Reader): number | string {
  let type = 0;
  let number = 0;
  let text = '';
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) type = reader.scalar;
    else if (reader.number === 2) number = reader.scalar;
    else if (reader.number === 3) text = reader.text();
  }
  reader.leave(outer);
  return type === 0 ? number : text;
}

function embeddedJson(reader: Reader): unknown {
  let text = '';
  const outer = reader.enter();
  while (reader.next()) if (reader.number === 1) text = reader.text();
  reader.leave(outer);
  try {
    return text === '' ? null : JSON.parse(text);
  } catch (cause) {
    throw new WireError(`embedded JSON can not be read: ${(cause as Error).message}`);
  }
}
