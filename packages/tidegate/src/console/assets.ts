import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'main.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

interface Asset {
  type: string;
  etag: string;
  plain: Buffer;
  compressed: Buffer;
}

/** The files of the pages, by path. They are read once: no path of a request ever becomes a path of a file. */
export class Assets {
  readonly #assets = new Map<string, Asset>();

  constructor(folder: string) {
    for (const [name, type] of Object.entries(TYPES)) {
      const plain = readFileSync(join(folder, name));
      const etag = `"${createHash('sha256').update(plain).digest('base64url')}"`;
      const path = name === 'index.html' ? '/' : `/${name}`;
      this.#assets.set(path, { type, etag, plain, compressed: gzipSync(plain) });
    }
  }

  /** False if there is no such file. */
  serve(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    const asset = this.#assets.get(path);
    if (asset === undefined) return false;
    const headers = { 'content-type': asset.type, etag: asset.etag, 'cache-control': 'no-cache' };
    if (request.headers['if-none-match'] === asset.etag) {
      response.writeHead(304, headers).end();
      return true;
    }
    const isCompressed = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    const body = isCompressed ? asset.compressed : asset.plain;
    response.writeHead(200, {
      ...headers,
      vary: 'accept-encoding',
      'content-length': body.length,
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
    return true;
  }
}
