/**
 * Writes the events of a watch as chunks of an HTTP response. `response.write` would send each chunk as four buffers, which
 * it corks until the next tick; with 150 watchers of one object, that is a quarter of the time of the server. Here a chunk is
 * one buffer, built once and shared by all watchers, and goes to the connection directly.
 */
import type { ServerResponse } from 'node:http';

const LINE_END = Buffer.from('\r\n');

/** The chunk of each frame. Frames that many watchers receive are the same buffer. */
const chunks = new WeakMap<Buffer, Buffer>();

/** Sends the frames in order. The headers of the response, with `Transfer-Encoding: chunked`, must be sent already. */
export function sendFrames(response: ServerResponse, frames: readonly Buffer[]): void {
  const [frame] = frames;
  if (frame === undefined) return;
  const { socket } = response;
  if (socket === null || !isDirect(response)) {
    response.write(frames.length === 1 ? frame : Buffer.concat(frames));
    return;
  }
  socket.write(frames.length === 1 ? sharedChunk(frame) : encodeChunk(frames));
}

/**
 * Whether bytes that are written to the connection now are the next bytes of the body. They are not if the response has no
 * body (HEAD), or if something of it still waits in the response: the responses to pipelined requests wait for each other.
 */
function isDirect(response: ServerResponse): boolean {
  const { socket } = response;
  return (
    socket?.writable === true &&
    response.chunkedEncoding &&
    response.req.method !== 'HEAD' &&
    response.writableLength === socket.writableLength
  );
}

function sharedChunk(frame: Buffer): Buffer {
  const known = chunks.get(frame);
  if (known !== undefined) return known;
  const made = encodeChunk([frame]);
  chunks.set(frame, made);
  return made;
}

/** The length in hexadecimal, the data, and an end of line after both. */
function encodeChunk(frames: readonly Buffer[]): Buffer {
  let length = 0;
  for (const frame of frames) length += frame.length;
  return Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), ...frames, LINE_END]);
}
