/** The frames of SPDY/3.1: what client-go needs of them. Pure functions. */

export type Frame =
  | { type: 'data'; stream: number; fin: boolean; data: Buffer }
  | { type: 'open'; stream: number; fin: boolean; block: Buffer }
  | { type: 'reset'; stream: number }
  | { type: 'ping'; id: Buffer }
  | { type: 'goaway' }
  | { type: 'other' };

const VERSION = 3;
const SYN_STREAM = 1;
const SYN_REPLY = 2;
const RST_STREAM = 3;
const PING = 6;
const GOAWAY = 7;
const FIN = 1;
const HEADER_BYTES = 8;
/** The largest frame that is accepted. client-go sends frames of at most 64 KiB. */
const MAX_FRAME_BYTES = 1024 * 1024;

/** The first frame in the buffer and its length; undefined while it is incomplete. */
export function takeFrame(buffer: Buffer): { frame: Frame; length: number } | undefined {
  if (buffer.length < HEADER_BYTES) return undefined;
  const size = buffer.readUIntBE(5, 3);
  if (size > MAX_FRAME_BYTES) throw new Error(`a SPDY frame of ${size} bytes is too large`);
  const length = HEADER_BYTES + size;
  if (buffer.length < length) return undefined;
  const payload = buffer.subarray(HEADER_BYTES, length);
  const fin = (buffer[4]! & FIN) !== 0;
  const first = buffer.readUInt32BE(0);
  if (first < 0x80000000) return { frame: { type: 'data', stream: first, fin, data: payload }, length };
  if (((first >>> 16) & 0x7fff) !== VERSION) throw new Error('the frame is not of SPDY version 3');
  return { frame: controlFrame(first & 0xffff, fin, payload), length };
}

function controlFrame(type: number, fin: boolean, payload: Buffer): Frame {
  switch (type) {
    case SYN_STREAM:
      // The stream, an associated stream, the priority, and then the headers.
      return { type: 'open', stream: idAt(payload), fin, block: payload.subarray(10) };
    case RST_STREAM:
      return { type: 'reset', stream: idAt(payload) };
    case PING:
      return { type: 'ping', id: payload.subarray(0, 4) };
    case GOAWAY:
      return { type: 'goaway' };
    default:
      // Settings and windows: client-go does not limit what is sent.
      return { type: 'other' };
  }
}

const idAt = (payload: Buffer): number => payload.readUInt32BE(0) & 0x7fffffff;

export function dataFrame(stream: number, data: Buffer, fin: boolean): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(stream, 0);
  header.writeUInt8(fin ? FIN : 0, 4);
  header.writeUIntBE(data.length, 5, 3);
  return Buffer.concat([header, data]);
}

export const replyFrame = (stream: number, block: Buffer): Buffer =>
  control(SYN_REPLY, Buffer.concat([number(stream), block]));

export const resetFrame = (stream: number, status: number): Buffer =>
  control(RST_STREAM, Buffer.concat([number(stream), number(status)]));

export const pingFrame = (id: Buffer): Buffer => control(PING, id);

function control(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(0x8000 | VERSION, 0);
  header.writeUInt16BE(type, 2);
  header.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([header, payload]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
