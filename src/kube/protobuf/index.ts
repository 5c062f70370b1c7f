/**
 * Reading Kubernetes' protobuf, for the few kinds where that pays: an event of an EndpointSlice takes half the bytes of
 * its JSON. Nothing is written in protobuf here.
 *
 *   `k8s\0` + Unknown{ typeMeta{apiVersion, kind}, raw } -> decodeObject -> the object as JSON would have it
 *   a watch: 4 bytes of length + WatchEvent{type, object} each -> decodeWatchEvent
 */
import type { KubeList, KubeObject } from '../object.ts';
import { decodeMessage } from './decode.ts';
import { Reader, WireError } from './reader.ts';
import { listMeta, type MessageType, messageOfKind } from './types.ts';

export { WireError } from './reader.ts';
export { readableInProtobuf } from './types.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MAGIC = Buffer.from('k8s\0', 'latin1');

interface Envelope {
  apiVersion: string;
  kind: string;
  raw: Reader;
}

/** Throws a WireError for what is broken, and for kinds that are not read here. */
export function decodeObject(body: Buffer): KubeObject {
  const { apiVersion, kind, raw } = open(body);
  return { apiVersion, kind, ...decodeMessage(raw, known(apiVersion, kind)) } as KubeObject;
}

/** The items get apiVersion and kind, which the list has for all of them. */
export function decodeList(body: Buffer): KubeList {
  const { apiVersion, kind, raw } = open(body);
  const itemKind = kind.replace(/List$/, '');
  const type = known(apiVersion, itemKind);
  const items: KubeObject[] = [];
  let metadata = {};
  while (raw.next()) {
    if (raw.number === 1) metadata = decodeMessage(raw.message(), listMeta());
    else if (raw.number === 2)
      items.push({ apiVersion, kind: itemKind, ...decodeMessage(raw.message(), type) } as KubeObject);
  }
  return { apiVersion, kind, metadata, items };
}

/** One frame of a watch, without its length. A failure's Status comes back as its JSON. */
export function decodeWatchEvent(frame: Buffer): { type: string; object: KubeObject } {
  const raw = new Reader(frame);
  let type = '';
  let object: KubeObject | undefined;
  while (raw.next()) {
    if (raw.number === 1) type = raw.text();
    else if (raw.number === 2) object = embedded(raw.message());
  }
  if (object === undefined) throw new WireError('a watch event without an object');
  return { type, object };
}

function embedded(reader: Reader): KubeObject | undefined {
  while (reader.next()) if (reader.number === 1) return decodeObject(reader.content());
  return undefined;
}

function known(apiVersion: string, kind: string): MessageType {
  const type = messageOfKind(apiVersion, kind);
  if (type !== undefined) return type;
  throw new WireError(
    `${kind || 'the object'} of ${apiVersion || 'unknown version'} is not read in protobuf here`,
  );
}

function open(body: Buffer): Envelope {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw new WireError('the body does not begin as protobuf of Kubernetes does');
  const envelope: Envelope = { apiVersion: '', kind: '', raw: new Reader(Buffer.alloc(0)) };
  const reader = new Reader(body, MAGIC.length);
  while (reader.next()) {
    if (reader.number === 2) envelope.raw = reader.message();
    else if (reader.number === 1) {
      const meta = reader.message();
      while (meta.next()) {
        if (meta.number === 1) envelope.apiVersion = meta.text();
        else if (meta.number === 2) envelope.kind = meta.text();
      }
    }
  }
  return envelope;
}
