/**
 * Encodes lists in protobuf as API servers do. The embedded API server only writes JSON, but the cost of
 * decoding is to be compared.
 */
import type { KubeList, KubeObject } from '@tidegate/kube';
import { type FieldType, type MessageType, messageOfKind, type Scalar } from '@tidegate/kube/protobuf';

/** Wire types of the protobuf encoding. */
const VARINT = 0;
const BYTES = 2;

export function encodeList({ apiVersion, kind, metadata, items }: KubeList): Buffer {
  const type = messageOfKind(apiVersion, kind.replace(/List$/, ''));
  if (type === undefined) throw new Error(`${kind} has no protobuf schema`);
  const listMeta = bytesField(2, Buffer.from(metadata.resourceVersion ?? ''));
  const raw = [bytesField(1, listMeta), ...items.map((item) => bytesField(2, message(item, type)))];
  const typeMeta = [bytesField(1, Buffer.from(apiVersion)), bytesField(2, Buffer.from(kind))];
  return Buffer.concat([
    Buffer.from('k8s\0', 'latin1'),
    bytesField(1, Buffer.concat(typeMeta)),
    bytesField(2, Buffer.concat(raw)),
  ]);
}

function message(object: KubeObject | object, type: MessageType): Buffer {
  const parts: Buffer[] = [];
  type.fields.forEach((field, number) => {
    const value = field && (object as Record<string, unknown>)[field.name];
    if (field === undefined || value === undefined) return;
    for (const each of field.repeated ? (value as unknown[]) : [value])
      parts.push(...fieldOf(number, field, each));
  });
  return Buffer.concat(parts);
}

function fieldOf(number: number, { type }: FieldType, value: unknown): Buffer[] {
  if (type === 'int' || type === 'bool') return [varint(number * 8 + VARINT), varint(Number(value))];
  if (type === 'map') return Object.entries(value as object).map(([k, v]) => bytesField(number, entry(k, v)));
  return [
    bytesField(number, typeof type === 'string' ? scalar(type, value) : message(value as object, type)),
  ];
}

const entry = (key: string, value: string): Buffer =>
  Buffer.concat([bytesField(1, Buffer.from(key)), bytesField(2, Buffer.from(value))]);

function scalar(type: Scalar, value: unknown): Buffer {
  if (type === 'time') return Buffer.concat([varint(8), varint(Date.parse(value as string) / 1000)]);
  if (type === 'json') return bytesField(1, Buffer.from(JSON.stringify(value)));
  return Buffer.from(value as string);
}

const bytesField = (number: number, content: Buffer): Buffer =>
  Buffer.concat([varint(number * 8 + BYTES), varint(content.length), content]);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
