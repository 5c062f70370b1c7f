import type { JsonMap, ListMeta } from '@tidegate/kube';
import { type Exchange, type Format, MEDIA_TYPES } from '@tidegate/serving';
import { encodeList, encodeObject, isEncodable, type TypeMeta } from '../protobuf/index.ts';

export type List = TypeMeta & { metadata: ListMeta; items: readonly JsonMap[] };

/** Sends an object or a Status in the negotiated format. Kinds without a protobuf form, such as tables, are JSON. */
export async function sendObject(
  exchange: Exchange,
  code: number,
  object: object,
  format: Format,
): Promise<void> {
  if (format !== 'protobuf') return exchange.object(code, object, format);
  const typed = object as TypeMeta & JsonMap;
  if (!isEncodable(typed)) return exchange.object(code, object);
  await exchange.bytes(code, MEDIA_TYPES.protobuf, [encodeObject(typed)]);
}

export async function sendList(exchange: Exchange, code: number, list: List, format: Format): Promise<void> {
  if (format !== 'protobuf') return exchange.object(code, list, format);
  await exchange.bytes(code, MEDIA_TYPES.protobuf, [encodeList(list)]);
}
