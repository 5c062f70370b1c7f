/**
 * Protobuf, the encoding that client-go, kubectl and controller-runtime prefer for built-in kinds.
 *
 *   k8s\0 + runtime.Unknown{ typeMeta{apiVersion, kind}, raw } <-> the object as it is in JSON
 *   a list: the same, with ListMeta and the items in `raw`
 *   a watch: 4 bytes of length + WatchEvent{ type, object{ raw: k8s\0... } } for each event
 *
 * `types` combines the schema of a kind with the generated field numbers, `decode` and `encode` walk along it, and
 * `writer` writes the wire format. Reading it is shared with the client library. Custom resources have no field numbers,
 * so they are sent in JSON, except for their metadata.
 */

export { encodeList, encodeObject, encodeWatchEvent, isEncodable, type TypeMeta } from './answer.ts';
export { decodeProtobuf } from './body.ts';
