/**
 * Encodes the JSON of a type as a protobuf message. Fields that are absent in JSON are not written. Clients read them as
 * zero values, which is what they are: a pointer with a zero value is present in JSON.
 */
import { isJsonMap, type JsonMap } from '@tidegate/kube';
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
import type { ProtobufWriter } from './writer.ts';

/** Writes the fields of the message, from the last to the first. */
export function encodeMessage(to: ProtobufWriter, object: JsonMap, type: MessageType): void {
  for (const field of type.descending) encodeField(to, object, field);
}

function encodeField(to: ProtobufWriter, object: JsonMap, { number, name, shape, type }: Field): void {
  if (shape === 'embedded') {
    if (typeof type === 'function') encodeEmbedded(to, object, number, type());
    return;
  }
  const value = object[name];
  if (value === undefined || value === null) return;
  if (shape === 'one') encodeValue(to, number, value, type);
  else if (shape === 'list') encodeList(to, number, value, type);
  else encodeMap(to, number, value as JsonMap, type);
}

function encodeEmbedded(to: ProtobufWriter, object: JsonMap, number: number, type: MessageType): void {
  const before = to.length;
  encodeMessage(to, object, type);
  if (to.length > before) to.endMessage(number, before);
}

function encodeList(to: ProtobufWriter, number: number, value: unknown, type: ValueType): void {
  const list = value as unknown[];
  for (let i = list.length - 1; i >= 0; i--) encodeValue(to, number, list[i], type);
}

function encodeMap(to: ProtobufWriter, number: number, map: JsonMap, type: ValueType): void {
  // Sorted, so that equal objects have equal bytes.
  for (const key of Object.keys(map).sort().reverse()) {
    const before = to.length;
    encodeValue(to, 2, map[key], type);
    to.text(1, key);
    to.endMessage(number, before);
  }
}

function encodeValue(to: ProtobufWriter, number: number, value: unknown, type: ValueType): void {
  if (typeof type === 'string') {
    SCALARS[type](to, number, value);
    return;
  }
  const before = to.length;
  if (typeof type === 'function') encodeMessage(to, isJsonMap(value) ? value : {}, type());
  else encodeList(to, 1, value ?? [], type.list);
  to.endMessage(number, before);
}

type EncodeScalar = (to: ProtobufWriter, number: number, value: unknown) => void;

/** A scalar of JSON that is a message in protobuf. */
const inMessage =
  (encode: (to: ProtobufWriter, value: unknown) => void): EncodeScalar =>
  (to, number, value) => {
    const before = to.length;
    encode(to, value);
    to.endMessage(number, before);
  };

const SCALARS: Readonly<Record<Scalar, EncodeScalar>> = {
  string: (to, number, value) => to.text(number, String(value ?? '')),
  boolean: (to, number, value) => to.boolean(number, value === true),
  integer: (to, number, value) => to.integer(number, Number(value)),
  double: (to, number, value) => to.double(number, Number(value)),
  bytes: (to, number, value) => to.bytes(number, Buffer.from(String(value ?? ''), 'base64')),
  time: inMessage(encodeTime),
  'micro-time': inMessage(encodeTime),
  quantity: inMessage((to, value) => to.text(1, String(value))),
  'int-or-string': inMessage(encodeIntOrString),
  json: inMessage((to, value) => to.text(1, JSON.stringify(value))),
  'schema-or-list': inMessage((to, value) => encodeUnion(to, value, 'schema-or-list')),
  'schema-or-boolean': inMessage((to, value) => encodeUnion(to, value, 'schema-or-boolean')),
  'schema-or-strings': inMessage((to, value) => encodeUnion(to, value, 'schema-or-strings')),
};

/** An empty message is Go's zero time. */
function encodeTime(to: ProtobufWriter, value: unknown): void {
  if (typeof value !== 'string') return;
  const [, fraction = ''] = /\.(\d+)Z$/.exec(value) ?? [];
  const seconds = Math.floor(Date.parse(value) / 1000);
  to.integer(2, Number(fraction.slice(0, 9).padEnd(9, '0')));
  to.integer(1, seconds);
}

function encodeIntOrString(to: ProtobufWriter, value: unknown): void {
  if (typeof value === 'string') to.text(3, value);
  else to.integer(2, Number(value));
  to.integer(1, typeof value === 'string' ? 1 : 0);
}

function encodeUnion(to: ProtobufWriter, value: unknown, union: Union): void {
  const { schema, other } = UNION_FIELDS[union];
  const type = (): MessageType => messageTypeNamed(JSON_SCHEMA);
  if (typeof value === 'boolean') to.boolean(other, value);
  else if (Array.isArray(value)) {
    encodeList(to, other, value, union === 'schema-or-strings' ? 'string' : type);
  } else {
    encodeValue(to, schema, value, type);
    // A client that looks only at the boolean must see that additional properties are allowed.
    if (union === 'schema-or-boolean') to.boolean(other, true);
  }
}
