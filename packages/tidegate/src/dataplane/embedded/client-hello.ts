/** The content type of a TLS record that contains a handshake message, and the type of the message. */
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;

/** Browsers send less than 2 KB. Node.js and OpenSSL refuse a hello that is longer. */
const MAX_HELLO_BYTES = 64 * 1024;

/**
 * Whether the first message of a TLS client asks for a server name. `incomplete` until enough bytes are there. Bytes that
 * are not a ClientHello are `unnamed`: the handshake fails with the right alert later.
 */
export function readClientHello(bytes: Buffer): 'incomplete' | 'named' | 'unnamed' {
  const message = firstMessage(bytes);
  if (message === undefined) return bytes.length > MAX_HELLO_BYTES ? 'unnamed' : 'incomplete';
  try {
    return hasServerName(message) ? 'named' : 'unnamed';
  } catch (error) {
    // A length in the message points outside of it.
    if (error instanceof RangeError) return 'unnamed';
    throw error;
  }
}

/** The first handshake message, which can be split into several records. Undefined: it is not complete. */
function firstMessage(bytes: Buffer): Buffer | undefined {
  let message: Buffer = Buffer.alloc(0);
  for (let at = 0; at + 5 <= bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return Buffer.alloc(0);
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    message = Buffer.concat([message, bytes.subarray(at + 5, end)]);
    at = end;
    if (message.length < 4) continue;
    if (message[0] !== CLIENT_HELLO) return Buffer.alloc(0);
    const length = message.readUIntBE(1, 3);
    if (message.length >= 4 + length) return message.subarray(4, 4 + length);
  }
  return undefined;
}

function hasServerName(hello: Buffer): boolean {
  // Version and random; then session id, cipher suites and compression methods, each with its length.
  let at = 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at >= hello.length) return false;
  const end = at + 2 + hello.readUInt16BE(at);
  for (at += 2; at < end; ) {
    if (hello.readUInt16BE(at) === SERVER_NAME) return true;
    at += 4 + hello.readUInt16BE(at + 2);
  }
  return false;
}
