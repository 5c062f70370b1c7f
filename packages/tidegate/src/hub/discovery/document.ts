import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** A stored response of an API server. */
export interface Document {
  /** The headers that describe the content, for example its type, encoding and ETag. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it was received: compressed, if the server compressed it. */
  readonly body: Buffer;
}

const KEPT = ['content-type', 'content-encoding', 'etag', 'last-modified', 'cache-control', 'vary'];
const NEWLINE = 0x0a;
const inflate = promisify(gunzip);

export function documentOf(headers: Record<string, string | string[]>, body: Buffer): Document {
  const kept: Record<string, string> = {};
  for (const name of KEPT) {
    const value = headers[name];
    if (value !== undefined) kept[name] = [value].flat().join(', ');
  }
  return { headers: kept, body };
}

/** The body without compression. */
export async function contentOf({ headers, body }: Document): Promise<Buffer> {
  return headers['content-encoding'] === 'gzip' ? await inflate(body) : body;
}

/** The format on disk: the headers as one line of JSON, then the body. */
export const encodeDocument = ({ headers, body }: Document): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify(headers)}\n`), body]);

export function decodeDocument(bytes: Buffer): Document {
  const end = bytes.indexOf(NEWLINE);
  return {
    headers: JSON.parse(bytes.subarray(0, end).toString('utf8')) as Record<string, string>,
    body: bytes.subarray(end + 1),
  };
}
