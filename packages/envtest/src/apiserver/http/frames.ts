/** The events of a watch as bytes, in JSON or protobuf. */
import type { JsonMap, KubeObject } from '@tidegate/kube';
import { type Format, MEDIA_TYPES } from '@tidegate/serving';
import { encodeWatchEvent, type TypeMeta } from '../protobuf/index.ts';
import { decodeStored, entryBytes, fromStorage, readableOne } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import type { Change, Entry } from '../store/types.ts';
import { TurnCache } from './turn-cache.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One event after the other: JSON objects on one line each, or protobuf messages with their length. */
export interface Framing {
  contentType: string;
  /** A stored object in a served version. */
  entry(type: EventType, served: Served, entry: Entry): Buffer;
  /** Anything else: other forms of objects, bookmarks and errors. */
  object(type: EventType | 'BOOKMARK' | 'ERROR', object: TypeMeta & object): Buffer;
}

const END = Buffer.from('}\n');

const JSON_LINES: Framing = {
  contentType: MEDIA_TYPES.json,
  entry: (type, served, entry) =>
    Buffer.concat([Buffer.from(`{"type":"${type}","object":`), entryBytes(served, entry), END]),
  object: (type, object) => Buffer.from(`${JSON.stringify({ type, object })}\n`),
};

const PROTOBUF: Framing = {
  contentType: `${MEDIA_TYPES.protobuf};stream=watch`,
  entry: (type, served, entry) => encodeWatchEvent(type, fromStorage(served, decodeStored(entry))),
  object: (type, object) => encodeWatchEvent(type, object as TypeMeta & JsonMap),
};

export const framingOf = (format: Format): Framing => (format === 'protobuf' ? PROTOBUF : JSON_LINES);

/** The objects of changes that a webhook has converted, or is converting, for any watcher. */
const converted = new WeakMap<Change, Map<Served['version'], Promise<KubeObject>>>();

/** The object of a change in a version that only a webhook can convert to. */
export function convertedObject(
  served: Served,
  entry: Entry,
  change: Change | undefined,
): Promise<KubeObject> {
  const convert = (): Promise<KubeObject> => readableOne(served, decodeStored(entry));
  if (change === undefined) return convert();
  const byVersion = converted.get(change) ?? new Map<Served['version'], Promise<KubeObject>>();
  converted.set(change, byVersion);
  const known = byVersion.get(served.version) ?? convert();
  byVersion.set(served.version, known);
  return known;
}

/** The bytes of an event are the same for every plain watcher of a version and format, so they are encoded once. */
const shared = new TurnCache<Change, Map<Framing, Map<Served['version'], Buffer>>>();

export function sharedFrame(framing: Framing, type: EventType, served: Served, change: Change): Buffer {
  let byFraming = shared.get(change);
  if (byFraming === undefined) {
    byFraming = new Map();
    shared.set(change, byFraming);
  }
  let byVersion = byFraming.get(framing);
  if (byVersion === undefined) {
    byVersion = new Map();
    byFraming.set(framing, byVersion);
  }
  let frame = byVersion.get(served.version);
  if (frame === undefined) {
    frame = framing.entry(type, served, change.entry);
    byVersion.set(served.version, frame);
  }
  return frame;
}
