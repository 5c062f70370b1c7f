import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib';
import { DICTIONARY, withLength } from './dictionary.ts';

export type Headers = Record<string, string>;

/**
 * Compresses and decompresses the headers of one connection. All headers of a direction are one zlib stream, so they
 * must be passed in the order of the connection.
 */
export class HeaderCodec {
  readonly #inflate = new Blocks(createInflate({ dictionary: DICTIONARY, flush: constants.Z_SYNC_FLUSH }));
  readonly #deflate = new Blocks(createDeflate({ dictionary: DICTIONARY, flush: constants.Z_SYNC_FLUSH }));

  async decode(block: Buffer): Promise<Headers> {
    const bytes = await this.#inflate.process(block);
    const headers: Headers = {};
    let at = 4;
    const text = (): string => {
      const start = at + 4;
      at = start + bytes.readUInt32BE(at);
      return bytes.toString('utf8', start, at);
    };
    for (let left = bytes.readUInt32BE(0); left > 0; left--) {
      const name = text();
      headers[name.toLowerCase()] = text();
    }
    return headers;
  }

  encode(headers: Headers): Promise<Buffer> {
    const entries = Object.entries(headers);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(entries.length);
    return this.#deflate.process(Buffer.concat([count, ...entries.flat().map(withLength)]));
  }

  close(): void {
    this.#inflate.close();
    this.#deflate.close();
  }
}

/** Passes blocks through a zlib stream and collects the output of each. */
class Blocks {
  readonly #stream: Inflate | Deflate;
  #output: Buffer[] = [];

  constructor(stream: Inflate | Deflate) {
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => this.#output.push(piece));
    stream.on('error', () => {}); // Also reported to the callback of `write`.
  }

  process(block: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#stream.write(block, (error) => {
        if (error != null) return reject(error);
        resolve(Buffer.concat(this.#output));
        this.#output = [];
      });
    });
  }

  close(): void {
    this.#stream.destroy();
  }
}
