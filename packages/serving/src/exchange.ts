import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Status } from '@tidegate/kube';
import { stringify } from 'yaml';

/** Below this size, compression costs more than it saves. kube-apiserver uses the same threshold. */
const COMPRESS_FROM = 128 * 1024;

/** Lists are written in chunks of about this size, so that a huge list does not block other requests. */
const WRITE_SIZE = 256 * 1024;

/** One request and its response, with the headers that accompany the answer. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #warnings: string[] = [];

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
  }

  warn(message: string): void {
    // One header line per warning. Text from tenants must not be able to add further header lines.
    const text = message.replace(/[\r\n\0]+/g, ' ').replace(/(["\\])/g, '\\$1');
    const line = `299 - "${text.slice(0, 1024)}"`;
    if (!this.#warnings.includes(line)) this.#warnings.push(line);
  }

  head(code: number, type: string, headers: Record<string, string | number> = {}): void {
    this.response.writeHead(code, {
      'Content-Type': type,
      // Unless the handler has set it.
      'Cache-Control': this.response.getHeader('Cache-Control') ?? 'no-cache, private',
      ...(this.#warnings.length > 0 && { Warning: this.#warnings }),
      ...headers,
    });
  }

  async object(code: number, object: unknown, format: 'json' | 'yaml' = 'json'): Promise<void> {
    if (format === 'yaml') await this.bytes(code, 'application/yaml', [Buffer.from(stringify(object))]);
    else await this.bytes(code, 'application/json', [Buffer.from(`${JSON.stringify(object)}\n`)]);
  }

  async status(status: Status): Promise<void> {
    const retry = status.details?.retryAfterSeconds;
    if (retry !== undefined) this.response.setHeader('Retry-After', String(retry));
    await this.object(status.code, status);
  }

  async text(code: number, text: string): Promise<void> {
    await this.bytes(code, 'text/plain; charset=utf-8', [Buffer.from(text)]);
  }

  /** Sends buffers as one body, compressed if the client accepts that and it saves enough. */
  async bytes(code: number, type: string, parts: Buffer[]): Promise<void> {
    let size = 0;
    for (const part of parts) size += part.length;
    if (size >= COMPRESS_FROM && /\bgzip\b/.test(String(this.request.headers['accept-encoding'] ?? ''))) {
      this.head(code, type, { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
      return this.#compress(parts);
    }
    this.head(code, type, { 'Content-Length': size });
    await this.#send(parts);
  }

  /** Compresses while the client reads: what clients do not read must not fill the memory. */
  async #compress(parts: Buffer[]): Promise<void> {
    try {
      await pipeline(Readable.from(parts), createGzip({ level: 1 }), this.response);
    } catch (error) {
      if (!this.response.destroyed) throw error; // Otherwise the client has left.
    }
  }

  async #send(parts: Buffer[]): Promise<void> {
    let pending: Buffer[] = [];
    let size = 0;
    for (const part of parts) {
      pending.push(part);
      size += part.length;
      if (size < WRITE_SIZE) continue;
      if (!this.response.write(Buffer.concat(pending, size))) await this.#drained();
      if (this.response.destroyed) return;
      pending = [];
      size = 0;
    }
    this.response.end(pending.length === 1 ? pending[0] : Buffer.concat(pending, size));
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.response.off('drain', done);
        this.response.off('close', done);
        resolve();
      };
      this.response.on('drain', done);
      this.response.on('close', done);
    });
  }
}
