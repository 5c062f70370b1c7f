import { readFileSync } from 'node:fs';

const TESTDATA = new URL('../protobuf/testdata/', import.meta.url);

/** A recorded answer of a real API server, for example `v1.36.4/services.json`. */
export const recordedText = (file: string): string => readFileSync(new URL(file, TESTDATA), 'utf8');

/** The same answer in protobuf, for example `v1.36.4/services`. */
export const recordedProtobuf = (name: string): Buffer =>
  Buffer.from(recordedText(`${name}.protobuf.txt`), 'base64');

/** A field with a length: text, or a message that consists of fields. */
export function field(number: number, ...content: (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** The body of an object or a list. */
export const envelope = (apiVersion: string, kind: string, ...fields: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), field(1, field(1, apiVersion), field(2, kind)), field(2, ...fields)]);

/** One frame of a watch, with its length. */
export function frame(type: string, object: Buffer): Buffer {
  const event = Buffer.concat([field(1, type), field(2, field(1, object))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value >= 0x80; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return Buffer.from([...bytes, value]);
}
