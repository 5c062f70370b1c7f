import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** RFC 6455, section 1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

/** Accepts a WebSocket and sends every message back. False when the request was not a WebSocket and was rejected. */
export function echoWebSocket(request: IncomingMessage, socket: Socket): boolean {
  const key = request.headers['sec-websocket-key'];
  if (request.headers.upgrade?.toLowerCase() !== 'websocket' || key === undefined) {
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return false;
  }
  const accept = createHash('sha1').update(`${key}${HANDSHAKE_GUID}`).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let frame = takeFrame(received); frame !== undefined; frame = takeFrame(received)) {
      received = received.subarray(frame.length);
      if (frame.opcode === PONG) continue;
      const head = frame.opcode === PING ? (frame.head & 0xf0) | PONG : frame.head;
      socket.write(serverFrame(head, frame.payload));
      if (frame.opcode === CLOSE) socket.end();
    }
  });
  return true;
}

interface Frame {
  /** The first byte: FIN and opcode. */
  head: number;
  opcode: number;
  payload: Buffer;
  /** The length of the whole frame in bytes. */
  length: number;
}

/** The first frame in the buffer, unmasked; undefined while it is incomplete. */
function takeFrame(buffer: Buffer): Frame | undefined {
  if (buffer.length < 2) return undefined;
  const head = buffer[0]!;
  const masked = (buffer[1]! & 0x80) !== 0;
  const short = buffer[1]! & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const maskAt = 2 + sizeBytes;
  const payloadAt = maskAt + (masked ? 4 : 0);
  if (buffer.length < payloadAt) return undefined;
  const size =
    sizeBytes === 0 ? short : sizeBytes === 2 ? buffer.readUInt16BE(2) : Number(buffer.readBigUInt64BE(2));
  if (buffer.length < payloadAt + size) return undefined;
  const payload = Buffer.from(buffer.subarray(payloadAt, payloadAt + size));
  if (masked) for (let i = 0; i < size; i++) payload[i]! ^= buffer[maskAt + (i % 4)]!;
  return { head, opcode: head & 0x0f, payload, length: payloadAt + size };
}

function serverFrame(head: number, payload: Buffer): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.from([head, length]), payload]);
  if (length < 65_536) return Buffer.concat([Buffer.from([head, 126, length >> 8, length & 0xff]), payload]);
  const size = Buffer.alloc(10);
  size[0] = head;
  size[1] = 127;
  size.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([size, payload]);
}
