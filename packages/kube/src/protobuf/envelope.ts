/** The frame around every protobuf body of Kubernetes: `k8s\0` and a runtime.Unknown message. */
import { Reader, WireError } from './reader.ts';

const MAGIC = Buffer.from('k8s\0', 'latin1');
const NOTHING = Buffer.alloc(0);

/** The kind of the object in a body, and a reader for its fields. */
export interface Envelope {
  apiVersion: string;
  kind: string;
  /** At the first field of the object. */
  reader: Reader;
}

/** Whether the body is an object in the protobuf encoding of Kubernetes. */
export const hasProtobufPrefix = (body: Buffer): boolean => body.subarray(0, MAGIC.length).equals(MAGIC);

/** Reads the type of the object in a body. Throws a WireError. */
export function openEnvelope(body: Buffer): Envelope {
  if (!hasProtobufPrefix(body)) throw new WireError('the body does not start with the prefix k8s\\0');
  let meta = { apiVersion: '', kind: '' };
  let raw: Buffer = NOTHING;
  const reader = new Reader(body, MAGIC.length);
  while (reader.next()) {
    if (reader.number === 1) meta = typeMeta(reader);
    else if (reader.number === 2) raw = reader.content();
  }
  return { ...meta, reader: new Reader(raw) };
}

function typeMeta(reader: Reader): { apiVersion: string; kind: string } {
  const meta = { apiVersion: '', kind: '' };
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) meta.apiVersion = reader.text();
    else if (reader.number === 2) meta.kind = reader.text();
  }
  reader.leave(outer);
  return meta;
}
