import type { KubeObject } from '../base/object.ts';
import { decodeWatchEvent, WireError } from '../protobuf/index.ts';
import { eventOf, type WatchEvent } from './watch.ts';

/** Far more than any object may have: a larger length means that the stream is corrupt. */
const LONGEST_FRAME = 64 * 1024 * 1024;
const HEAD = 4;

/** Reads one event per frame, in protobuf. An ERROR event is thrown as an ApiStatusError. */
export async function* framedEvents<T extends KubeObject>(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<WatchEvent<T>> {
  for await (const frame of frames(chunks)) yield eventOf<T>(decodeWatchEvent(frame));
}

/** Joins chunks only when a frame is complete: large objects arrive in many chunks. */
async function* frames(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let size = 0;
  let needed = HEAD;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    size += chunk.length;
    if (size < needed) continue;
    let bytes = pieces.length === 1 ? chunk : Buffer.concat(pieces);
    for (needed = frameEnd(bytes); bytes.length >= needed; needed = frameEnd(bytes)) {
      yield bytes.subarray(HEAD, needed);
      bytes = bytes.subarray(needed);
    }
    pieces = [bytes];
    size = bytes.length;
  }
  // A last frame that is not complete was cut off; the event will come again after reconnecting.
}

/** Where the first frame ends; or, if its length has not arrived, where the length ends. */
function frameEnd(bytes: Buffer): number {
  if (bytes.length < HEAD) return HEAD;
  const length = bytes.readUInt32BE(0);
  if (length > LONGEST_FRAME) throw new WireError(`a watch event of ${length} bytes`);
  return HEAD + length;
}
