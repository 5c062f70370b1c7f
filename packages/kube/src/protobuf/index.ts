/**
 * Reading Kubernetes' protobuf, for the few kinds where that pays: an event of an EndpointSlice takes half the bytes of
 * its JSON. Nothing is written in protobuf here.
 *
 *   `k8s\0` + Unknown{ typeMeta{apiVersion, kind}, raw } -> decodeObject -> the object as JSON would have it
 *   a watch: 4 bytes of length + WatchEvent{type, object} each -> decodeWatchEvent
 */
import type { KubeList, KubeObject } from '../object.ts';
import { decodeFields, decodeMessage, type Unknown } from './decode.ts';
import { Reader, WireError } from './reader.ts';
import { listMeta, type MessageType, messageOfKind } from './types.ts';

export { WireError } from './reader.ts';
export { readableInProtobuf } from './types.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MAGIC = Buffer.from('k8s\0', 'latin1');
const NOTHING = Buffer.alloc(0);

/**
 * Throws a WireError for what is broken, and for kinds that are not read here. Fields that are not known are dropped, as
 * API servers do with what newer clients send them.
 */
export const decodeObject = (body: Buffer): KubeObject => objectIn(body, 'drop');

/**
 * A list as an API server sent it; the items get apiVersion and kind, which the list has for all of them. A field that
 * is not known would be missing in what is made of it: that is a WireError too.
 */
export function decodeList(body: Buffer): KubeList {
  const { apiVersion, kind, reader } = open(body);
  const itemKind = kind.replace(/List$/, '');
  const type = known(apiVersion, itemKind);
  const items: KubeObject[] = [];
  let metadata = {};
  while (reader.next()) {
    if (reader.number === 1) metadata = decodeMessage(reader, listMeta(), 'refuse');
    else if (reader.number === 2)
      items.push({ apiVersion, kind: itemKind, ...decodeMessage(reader, type, 'refuse') } as KubeObject);
  }
  return { apiVersion, kind, metadata, items };
}

/** One frame of a watch, without its length, as strictly as a list. A failure's Status comes back as its JSON. */
export function decodeWatchEvent(frame: Buffer): { type: string; object: KubeObject } {
  const reader = new Reader(frame);
  let type = '';
  let body: Buffer | undefined;
  while (reader.next()) {
    if (reader.number === 1) type = reader.text();
    else if (reader.number === 2) body = rawExtension(reader);
  }
  if (body === undefined) throw new WireError('a watch event without an object');
  return { type, object: objectIn(body, 'refuse') };
}

function rawExtension(reader: Reader): Buffer | undefined {
  let raw: Buffer | undefined;
  const outer = reader.enter();
  while (reader.next()) if (reader.number === 1) raw = reader.content();
  reader.leave(outer);
  return raw;
}

function objectIn(body: Buffer, unknown: Unknown): KubeObject {
  const { apiVersion, kind, reader } = open(body);
  const type = known(apiVersion, kind);
  return { apiVersion, kind, ...decodeFields(reader, type, unknown) } as KubeObject;
}

function known(apiVersion: string, kind: string): MessageType {
  const type = messageOfKind(apiVersion, kind);
  if (type !== undefined) return type;
  throw new WireError(
    `${kind || 'the object'} of ${apiVersion || 'unknown version'} is not read in protobuf here`,
  );
}

interface Envelope {
  apiVersion: string;
  kind: string;
  /** Stands before the first field of the object. */
  reader: Reader;
}

function open(body: Buffer): Envelope {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw new WireError('the body does not begin as protobuf of Kubernetes does');
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
