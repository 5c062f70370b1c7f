/**
 * Frames divide an append-only file into checked pieces:
 *
 *   marker 4 | crc32 4 | length 4 | payload          (the checksum covers length and payload)
 *
 * One group commit is one frame, so a write that a crash interrupted is detected and discarded as a whole.
 *
 * A bad frame has two possible causes. At the end of the file it is a torn write, which was never acknowledged and
 * can be cut off. In the middle it is damage, and cutting there would lose acknowledged writes, so the file is
 * rejected. To distinguish the two, a reader searches for an intact frame after the bad one. The marker is not valid
 * UTF-8, so it never occurs inside stored JSON.
 */
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

const MARKER = Buffer.from([0xff, 0xfe, 0xf5, 0xc0]);
/** Bytes before the payload: marker, checksum and length. */
export const FRAME_HEADER_SIZE = 12;
const CHUNK_SIZE = 1 << 20;

/** Writes the header of the frame that fills `frame` to its end. */
export function sealFrame(frame: Buffer): void {
  MARKER.copy(frame, 0);
  frame.writeUInt32LE(frame.length - FRAME_HEADER_SIZE, 8);
  frame.writeUInt32LE(crc32(frame.subarray(8)), 4);
}

/** The size of the frame at `offset`, header included; undefined if its header is incomplete or invalid. */
function frameSize(bytes: Buffer, offset: number): number | undefined {
  if (bytes.length - offset < FRAME_HEADER_SIZE) return undefined;
  if (MARKER.compare(bytes, offset, offset + MARKER.length) !== 0) return undefined;
  return FRAME_HEADER_SIZE + bytes.readUInt32LE(offset + 8);
}

function isSound(frame: Buffer): boolean {
  return crc32(frame.subarray(8)) === frame.readUInt32LE(4);
}

/** Where reading stopped; `sound` if that is the end of the file. */
export interface FramesEnd {
  offset: number;
  sound: boolean;
}

/** Calls `onPayload` with the payload of each frame, in order. The payload is valid only during the call. */
export async function readFrames(
  file: FileHandle,
  start: number,
  onPayload: (payload: Buffer, offset: number) => void,
): Promise<FramesEnd> {
  const { size } = await file.stat();
  let buffer: Buffer = Buffer.allocUnsafeSlow(CHUNK_SIZE);
  let filled = 0;
  let used = 0;
  let offset = start;
  while (offset < size) {
    const frameLength = frameSize(buffer.subarray(0, filled), used);
    if (frameLength !== undefined && used + frameLength <= filled) {
      const frame = buffer.subarray(used, used + frameLength);
      if (!isSound(frame)) break;
      onPayload(frame.subarray(FRAME_HEADER_SIZE), offset);
      used += frameLength;
      offset += frameLength;
      continue;
    }
    const headerWrong = frameLength === undefined && filled - used >= FRAME_HEADER_SIZE;
    const beyondEnd = frameLength !== undefined && offset + frameLength > size;
    if (headerWrong || beyondEnd) break;
    buffer = withRoomFor(buffer, used, filled, frameLength ?? FRAME_HEADER_SIZE);
    filled -= used;
    used = 0;
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return { offset, sound: offset === size };
}

/** Moves the unread part to the front of the buffer, which grows if the next frame needs more space. */
function withRoomFor(buffer: Buffer, used: number, filled: number, needed: number): Buffer {
  const target = needed > buffer.length ? Buffer.allocUnsafeSlow(needed) : buffer;
  buffer.copy(target, 0, used, filled);
  return target;
}

/** Whether an intact frame follows `offset`: then the problem at `offset` is damage, not a torn end. */
export async function hasFrameBehind(file: FileHandle, offset: number): Promise<boolean> {
  const { size } = await file.stat();
  const rest = Buffer.allocUnsafeSlow(size - offset);
  let filled = 0;
  while (filled < rest.length) {
    const { bytesRead } = await file.read(rest, filled, rest.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  for (let at = rest.indexOf(MARKER, 1); at !== -1; at = rest.indexOf(MARKER, at + 1)) {
    const length = frameSize(rest, at);
    if (length !== undefined && at + length <= filled && isSound(rest.subarray(at, at + length))) return true;
  }
  return false;
}
