/** Decodes a protobuf message to the JSON of its type. */
import { type JsonMap, setField } from '@tidegate/kube';
import {
  Reader,
  readEmbeddedJson,
  readIntOrString,
  readTime,
  readWrappedText,
} from '@tidegate/kube/protobuf';
import {
  type Field,
  JSON_SCHEMA,
  type MessageType,
  messageTypeNamed,
  type Scalar,
  UNION_FIELDS,
  type Union,
  type ValueType,
} from './types.ts';

const NOTHING = Buffer.alloc(0);

/** Decodes the message that starts at the next field. */
export function decodeMessage(reader: Reader, type: MessageType): JsonMap {
  const object: JsonMap = {};
  decodeInto(object, reader, type);
  return object;
}

/** Runs `read` inside the message in the current field. */
function inside<T>(reader: Reader, read: () => T): T {
  const outer = reader.enter();
  const result = read();
  reader.leave(outer);
  return result;
}

function decodeInto(object: JsonMap, reader: Reader, type: MessageType): void {
  while (reader.next()) {
    const field = type.byNumber[reader.number];
    // Newer clients may send fields that this version does not know, as they may in JSON.
    if (field !== undefined) addField(object, field, reader);
  }
}

function addField(object: JsonMap, { name, shape, type }: Field, reader: Reader): void {
  switch (shape) {
    case 'one':
      object[name] = decodeValue(reader, type);
      return;
    case 'list': {
      const list = (object[name] ?? []) as unknown[];
      list.push(decodeValue(reader, type));
      object[name] = list;
      return;
    }
    case 'map': {
      const map = (object[name] ?? {}) as JsonMap;
      addEntry(map, reader, type);
      object[name] = map;
      return;
    }
    case 'embedded':
      if (typeof type === 'function') inside(reader, () => decodeInto(object, reader, type()));
  }
}

function decodeValue(reader: Reader, type: ValueType): unknown {
  if (typeof type === 'string') return decodeScalar(reader, type);
  if (typeof type === 'function') return inside(reader, () => decodeMessage(reader, type()));
  const list: unknown[] = [];
  inside(reader, () => {
    while (reader.next()) list.push(decodeValue(reader, type.list));
  });
  return list;
}

function decodeScalar(reader: Reader, type: Scalar): unknown {
  switch (type) {
    case 'string':
      return reader.text();
    case 'boolean':
      return reader.scalar !== 0;
    case 'integer':
    case 'double':
      return reader.scalar;
    case 'bytes':
      return reader.content().toString('base64');
    case 'time':
      return readTime(reader, 'never') ?? null;
    case 'micro-time':
      return readTime(reader, 'always') ?? null;
    case 'quantity':
      return readWrappedText(reader);
    case 'int-or-string':
      return readIntOrString(reader);
    case 'json':
      return readEmbeddedJson(reader);
    default:
      return decodeUnion(reader, type);
  }
}

function decodeUnion(reader: Reader, union: Union): unknown {
  const type = messageTypeNamed(JSON_SCHEMA);
  const decodeSchema = (): JsonMap => inside(reader, () => decodeMessage(reader, type));
  const list: unknown[] = [];
  let allowed = false;
  let schema: JsonMap | undefined;
  inside(reader, () => {
    while (reader.next()) {
      if (reader.number === UNION_FIELDS[union].schema) schema = decodeSchema();
      else if (union === 'schema-or-boolean') allowed = reader.scalar !== 0;
      else list.push(union === 'schema-or-list' ? decodeSchema() : reader.text());
    }
  });
  return schema ?? (union === 'schema-or-boolean' ? allowed : list);
}

/** A map is a repeated message of key and value. A value that was not sent is the zero value of its type. */
function addEntry(map: JsonMap, reader: Reader, type: ValueType): void {
  let key = '';
  let value = decodeValue(new Reader(NOTHING), type);
  inside(reader, () => {
    while (reader.next()) {
      if (reader.number === 1) key = reader.text();
      else value = decodeValue(reader, type);
    }
  });
  setField(map, key, value);
}
