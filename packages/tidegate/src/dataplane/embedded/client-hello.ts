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
    return serverNameExtension(message) === undefined ? 'unnamed' : 'named';
  } catch (error) {
    // A length in the message points outside of it.
    if (error instanceof RangeError) return 'unnamed';
    throw error;
  }
}

/** The name that the first message of a TLS client asks for; undefined if there is none that can be read. */
export function serverNameOf(bytes: Buffer): string | undefined {
  try {
    const message = firstMessage(bytes);
    const extension = message && serverNameExtension(message);
    if (extension === undefined) return undefined;
    // The length of the list, then the type of the first name (0: a host), its length and the name.
    const length = extension.readUInt16BE(3);
    return extension[2] === 0 && extension.length >= 5 + length
      ? extension.toString('latin1', 5, 5 + length)
      : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
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

/** The content of the extension with the server name. */
function serverNameExtension(hello: Buffer): Buffer | undefined {
  // Version and random; then session id, cipher suites and compression methods, each with its length.
  let at = 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at >= hello.length) return undefined;
  const end = at + 2 + hello.readUInt16BE(at);
  for (at += 2; at < end; ) {
    const length = hello.readUInt16BE(at + 2);
    if (hello.readUInt16BE(at) === SERVER_NAME) return hello.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return undefined;
}
