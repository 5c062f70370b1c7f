/** Writes responses: objects, lists and watch events. */
import type { JsonMap, ListMeta } from '@tidegate/kube';
import { encodeMessage } from './encode.ts';
import { kindType } from './kinds.ts';
import { type MessageType, messageTypeNamed } from './types.ts';
import { ProtobufWriter } from './writer.ts';

const MAGIC = Buffer.from('k8s\0', 'latin1');
const LIST_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';

/** One writer for all messages: encoding is synchronous, and a new buffer for each message would cost more. */
const writer = new ProtobufWriter();

export interface TypeMeta {
  apiVersion: string;
  kind: string;
}

export const isEncodable = ({ apiVersion, kind }: TypeMeta): boolean =>
  kindType(apiVersion, kind) !== undefined;

/** Encodes an object. Call it only for kinds that are encodable. */
export function encodeObject(object: TypeMeta & JsonMap): Buffer {
  return inEnvelope(object, () => encodeMessage(writer, object, typeOf(object)));
}

/** Encodes a list; `kind` is that of the list, for example PodList. The items are of the kind without `List`. */
export function encodeList(list: TypeMeta & { metadata: ListMeta; items: readonly JsonMap[] }): Buffer {
  const { apiVersion, kind, metadata, items } = list;
  const type = typeOf({ apiVersion, kind: kind.replace(/List$/, '') });
  return inEnvelope(list, () => {
    for (let i = items.length - 1; i >= 0; i--) {
      const before = writer.length;
      encodeMessage(writer, items[i] as JsonMap, type);
      writer.endMessage(2, before);
    }
    writer.message(1, () => encodeMessage(writer, metadata as JsonMap, messageTypeNamed(LIST_META)));
  });
}

/** Encodes one event of a watch, with its length. */
export function encodeWatchEvent(type: string, object: TypeMeta & JsonMap): Buffer {
  const encoded = encodeObject(object);
  writer.message(2, () => writer.bytes(1, encoded));
  writer.text(1, type);
  const event = writer.finish();
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function inEnvelope({ apiVersion, kind }: TypeMeta, write: () => void): Buffer {
  writer.message(2, write);
  writer.message(1, () => {
    writer.text(2, kind);
    writer.text(1, apiVersion);
  });
  return Buffer.concat([MAGIC, writer.finish()]);
}

function typeOf({ apiVersion, kind }: TypeMeta): MessageType {
  const type = kindType(apiVersion, kind);
  if (type === undefined) throw new Error(`${kind} in ${apiVersion} has no field numbers`);
  return type;
}
