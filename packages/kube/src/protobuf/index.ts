/**
 * `@tidegate/kube/protobuf`: reads the protobuf encoding of Kubernetes. Clients use it for the few kinds where it pays: an
 * event for an EndpointSlice takes half the bytes of its JSON. Nothing here writes protobuf.
 *
 *   `k8s\0` + Unknown{ typeMeta{apiVersion, kind}, raw } -> decodeObject -> the object as JSON would have it
 *   a watch: 4 bytes of length + WatchEvent{type, object} each -> decodeWatchEvent
 *
 * `types` has the field numbers of the kinds that decodeObject knows, and `decode` walks along them. A program with tables
 * of its own, such as an API server that accepts every built-in kind, builds on `openEnvelope`, `Reader` and the `read`
 * functions.
 *
 * This is our own code because generated readers of all Kubernetes kinds take megabytes, and produce Go-like messages
 * instead of the JSON that everything else here works with.
 */
import type { KubeList, KubeObject } from '../base/object.ts';
import { decodeFields, decodeMessage, type Unknown } from './decode.ts';
import { openEnvelope } from './envelope.ts';
import { Reader, WireError } from './reader.ts';
import { listMeta, type MessageType, messageOfKind } from './types.ts';

export { type Envelope, hasProtobufPrefix, openEnvelope } from './envelope.ts';
export { Reader, WireError } from './reader.ts';
export {
  type FieldType,
  type MessageType,
  messageOfKind,
  readableInProtobuf,
  type Scalar,
} from './types.ts';
export {
  type Fractions,
  readEmbeddedJson,
  readIntOrString,
  readTime,
  readWrappedText,
} from './values.ts';

/** The media type. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/**
 * Decodes one object. Throws a WireError for a broken body and for unknown kinds. Drops unknown fields, as API servers do
 * with fields of newer clients.
 */
export const decodeObject = (body: Buffer): KubeObject => objectIn(body, 'drop');

/**
 * Decodes a list from an API server; every item gets the apiVersion and kind that the list states once. Throws a WireError
 * for an unknown field too: dropping it would lose data of a newer API server, and the caller can ask for JSON instead.
 */
export function decodeList(body: Buffer): KubeList {
  const { apiVersion, kind, reader } = openEnvelope(body);
  const itemKind = kind.replace(/List$/, '');
  const type = typeOfKind(apiVersion, itemKind);
  const items: KubeObject[] = [];
  let metadata = {};
  while (reader.next()) {
    if (reader.number === 1) metadata = decodeMessage(reader, listMeta(), 'reject');
    else if (reader.number === 2)
      items.push({ apiVersion, kind: itemKind, ...decodeMessage(reader, type, 'reject') } as KubeObject);
  }
  return { apiVersion, kind, metadata, items };
}

/** Decodes one frame of a watch, without its length, as strictly as a list. An ERROR event carries a Status. */
export function decodeWatchEvent(frame: Buffer): { type: string; object: KubeObject } {
  const reader = new Reader(frame);
  let type = '';
  let body: Buffer | undefined;
  while (reader.next()) {
    if (reader.number === 1) type = reader.text();
    else if (reader.number === 2) body = rawExtension(reader);
  }
  if (body === undefined) throw new WireError('a watch event has no object');
  return { type, object: objectIn(body, 'reject') };
}

function rawExtension(reader: Reader): Buffer | undefined {
  let raw: Buffer | undefined;
  const outer = reader.enter();
  while (reader.next()) if (reader.number === 1) raw = reader.content();
  reader.leave(outer);
  return raw;
}

function objectIn(body: Buffer, unknown: Unknown): KubeObject {
  const { apiVersion, kind, reader } = openEnvelope(body);
  const type = typeOfKind(apiVersion, kind);
  return { apiVersion, kind, ...decodeFields(reader, type, unknown) } as KubeObject;
}

function typeOfKind(apiVersion: string, kind: string): MessageType {
  const type = messageOfKind(apiVersion, kind);
  if (type !== undefined) return type;
  throw new WireError(
    `${kind || 'the object'} in ${apiVersion || 'an unknown version'} is not supported in protobuf`,
  );
}
