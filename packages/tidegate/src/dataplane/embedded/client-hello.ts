/** The content type of a TLS record that contains a handshake message, and the type of the message. */
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;

/** Before each record: its type, the version, and its length. */
const HEADER_BYTES = 5;
/** Browsers send less than 2 KB. Node.js and OpenSSL refuse a hello that is longer. */
const MAX_HELLO_BYTES = 64 * 1024;

/**
 * Whether the first message of a TLS client asks for a server name, and for which. `incomplete` until enough bytes are there.
 * Bytes that are not a ClientHello are `unnamed`: the handshake fails with the right alert later.
 */
export type ClientHello =
  | { readonly kind: 'incomplete' | 'unnamed' }
  /** The name is undefined if it cannot be read. */
  | { readonly kind: 'named'; readonly name: string | undefined };

const INCOMPLETE = { kind: 'incomplete' } as const;
const UNNAMED = { kind: 'unnamed' } as const;

/**
 * Reads the first message of a TLS client, which can be split into several records, and arrive in any number of chunks. Each
 * byte is read once: a client that sends single bytes must not cost more than others.
 */
export class ClientHelloReader {
  #bytes = 0;
  /** The beginning of a header of a record. */
  #header: Buffer = Buffer.alloc(0);
  /** What is missing of the current record. */
  #missing = 0;
  /** The content of the records, and its length. */
  readonly #parts: Buffer[] = [];
  #length = 0;
  /** Of the message with its type and length, which are four bytes. */
  #wanted: number | undefined;

  push(chunk: Buffer): ClientHello {
    this.#bytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      if (this.#missing > 0) {
        const part = chunk.subarray(at, at + this.#missing);
        at += part.length;
        this.#missing -= part.length;
        this.#take(part);
      } else {
        const more = chunk.subarray(at, at + HEADER_BYTES - this.#header.length);
        at += more.length;
        this.#header = Buffer.concat([this.#header, more]);
        if (this.#header[0] !== HANDSHAKE) return UNNAMED;
        if (this.#header.length < HEADER_BYTES) break;
        this.#missing = this.#header.readUInt16BE(3);
        this.#header = Buffer.alloc(0);
      }
      if (this.#parts[0] !== undefined && this.#parts[0][0] !== CLIENT_HELLO) return UNNAMED;
      if (this.#wanted !== undefined && this.#length >= this.#wanted) return this.#read(this.#wanted);
    }
    return this.#bytes > MAX_HELLO_BYTES ? UNNAMED : INCOMPLETE;
  }

  #take(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
    // No part is empty, so these are four at most.
    if (this.#wanted === undefined && this.#length >= 4)
      this.#wanted = 4 + Buffer.concat(this.#parts).readUIntBE(1, 3);
  }

  #read(length: number): ClientHello {
    try {
      const extension = serverNameExtension(Buffer.concat(this.#parts).subarray(4, length));
      return extension === undefined ? UNNAMED : { kind: 'named', name: firstName(extension) };
    } catch (error) {
      // A length in the message points outside of it.
      if (error instanceof RangeError) return UNNAMED;
      throw error;
    }
  }
}

/** The length of the list, then the type of the first name (0: a host), its length and the name. */
function firstName(extension: Buffer): string | undefined {
  if (extension.length < 5) return undefined;
  const end = 5 + extension.readUInt16BE(3);
  return extension[2] === 0 && extension.length >= end ? extension.toString('latin1', 5, end) : undefined;
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
