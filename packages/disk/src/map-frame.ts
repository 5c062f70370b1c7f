/**
 * The format of a DurableMap: frames of records, with one frame for all changes that become durable together.
 *
 *   type 1 | key length 2 | value length 4 | key | value
 */
import { FRAME_HEADER_SIZE, sealFrame } from './frame.ts';

const PUT = 1;
const DELETE = 2;
const RECORD_HEADER_SIZE = 7;
const LONGEST_KEY = 0xffff;

/** A value to be written; undefined deletes the key. */
export type MapChange = readonly [key: string, value: Buffer | undefined];

/** The position of a value in the file. */
export interface Place {
  offset: number;
  length: number;
}

/** A change that was read from the file: the position of its value, or undefined if the key was deleted. */
export type PlacedChange = readonly [key: string, place: Place | undefined];

/** The size of a record in the file, without the header of the frame. */
export const recordSize = (key: string, valueLength: number): number =>
  RECORD_HEADER_SIZE + Buffer.byteLength(key) + valueLength;

/** Throws if the key does not fit into a frame. */
export function assertKey(key: string): void {
  if (key.length * 3 <= LONGEST_KEY || Buffer.byteLength(key) <= LONGEST_KEY) return;
  throw new RangeError(`a key of a DurableMap has at most ${LONGEST_KEY} bytes: ${key.slice(0, 100)}...`);
}

/** The frame for these changes, and the position of each value if the frame is written at `offset`. */
export function encodeMapFrame(
  changes: readonly MapChange[],
  offset: number,
): { frame: Buffer; placed: PlacedChange[] } {
  let size = FRAME_HEADER_SIZE;
  for (const [key, value] of changes) size += recordSize(key, value?.length ?? 0);
  const frame = Buffer.allocUnsafeSlow(size);
  const placed: PlacedChange[] = [];
  let at = FRAME_HEADER_SIZE;
  for (const [key, value] of changes) {
    const keyLength = frame.write(key, at + RECORD_HEADER_SIZE);
    const valueAt = at + RECORD_HEADER_SIZE + keyLength;
    frame[at] = value === undefined ? DELETE : PUT;
    frame.writeUInt16LE(keyLength, at + 1);
    frame.writeUInt32LE(value?.length ?? 0, at + 3);
    value?.copy(frame, valueAt);
    placed.push([key, value === undefined ? undefined : { offset: offset + valueAt, length: value.length }]);
    at = valueAt + (value?.length ?? 0);
  }
  sealFrame(frame);
  return { frame, placed };
}

/** Reads the records of the frame at `offset`. Throws a RangeError if they do not fill the frame exactly. */
export function decodeMapFrame(
  payload: Buffer,
  offset: number,
  onChange: (change: PlacedChange) => void,
): void {
  let at = 0;
  while (at < payload.length) {
    const keyAt = at + RECORD_HEADER_SIZE;
    const valueAt = keyAt + payload.readUInt16LE(at + 1);
    const length = payload.readUInt32LE(at + 3);
    if (valueAt + length > payload.length) throw new RangeError('a record is longer than its frame');
    const key = payload.toString('utf8', keyAt, valueAt);
    const place = { offset: offset + FRAME_HEADER_SIZE + valueAt, length };
    onChange([key, payload[at] === DELETE ? undefined : place]);
    at = valueAt + length;
  }
}
