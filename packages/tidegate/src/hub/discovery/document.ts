import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** One answer of an API server that is worth keeping. */
export interface Document {
  /** Those that describe the content: type, encoding, ETag ... */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came: zipped, if the server zipped it. */
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

/** What it says, whichever way it came. */
export async function contentOf({ headers, body }: Document): Promise<Buffer> {
  return headers['content-encoding'] === 'gzip' ? await inflate(body) : body;
}

/** On disk: the headers as one line of JSON, then the body. */
export const encodeDocument = ({ headers, body }: Document): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify(headers)}\n`), body]);

export function decodeDocument(bytes: Buffer): Document {
  const end = bytes.indexOf(NEWLINE);
  return {
    headers: JSON.parse(bytes.subarray(0, end).toString('utf8')) as Record<string, string>,
    body: bytes.subarray(end + 1),
  };
}
