/** Requests of HTTP/2 that clients of Node.js refuse to send, as frames. */
import { connect } from 'node:tls';

/** Types of frames, and the flags of a frame that is the last one of its headers, and of its stream. */
const [DATA, HEADERS, RESET, SETTINGS, GO_AWAY] = [0, 1, 3, 4, 7];
const [END_HEADERS, END_STREAM] = [4, 1];
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

function frame(type: number, flags: number, stream: number, content: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

/** A header that is not in a table and not compressed. Its parts have at most 126 bytes. */
const literal = ([name, value]: readonly [string, string]): Buffer =>
  Buffer.from(
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
    'latin1',
  );

/** The types of the frames that are complete. */
function framesOf(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    types.push(bytes.readUInt8(at + 3));
    at = end;
  }
  return types;
}

/**
 * Sends a request for `servername` on a connection of its own. Returns the text of the answer, or `reset` if the router resets
 * the stream or closes the connection.
 */
export function askInFrames(
  port: number,
  servername: string,
  headers: readonly (readonly [string, string])[],
  body = '',
): Promise<string> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect({
      ...{ port, host: '127.0.0.1', servername, ALPNProtocols: ['h2'], rejectUnauthorized: false },
    });
    const end = (): void => {
      socket.destroy();
      const bytes = Buffer.concat(received);
      resolve(framesOf(bytes).includes(HEADERS) ? bytes.toString('latin1') : 'reset');
    };
    socket.once('error', end);
    socket.once('close', end);
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      const frames = framesOf(Buffer.concat(received));
      if ([DATA, RESET, GO_AWAY].some((type) => frames.includes(type))) end();
    });
    const pseudo = [
      [':method', body === '' ? 'GET' : 'POST'],
      [':scheme', 'https'],
      [':path', '/'],
      [':authority', servername],
    ] as const;
    const head = Buffer.concat([...pseudo, ...headers].map(literal));
    socket.write(PREFACE);
    socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
    socket.write(frame(HEADERS, END_HEADERS | (body === '' ? END_STREAM : 0), 1, head));
    if (body !== '') socket.write(frame(DATA, END_STREAM, 1, Buffer.from(body)));
  });
}
