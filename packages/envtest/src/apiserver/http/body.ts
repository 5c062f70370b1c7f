import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError, badRequest, unsupportedMediaType } from '@tidegate/serving';

/** The limit of kube-apiserver: 3 MiB for every kind. */
const LIMIT = 3 * 1024 * 1024;

const unzip = promisify(gunzip);

/** Reads and decompresses the body. Throws a 413 error if it is larger than the limit, also after decompression. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const body = await collect(request);
  if (request.headers['content-encoding'] !== 'gzip') return body;
  try {
    return await unzip(body, { maxOutputLength: LIMIT });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw badRequest(
      `the request has Content-Encoding: gzip, but its body cannot be decompressed: ${(cause as Error).message}`,
    );
  }
}

/**
 * Uses events instead of async iteration: leaving an iterator early destroys the connection, and a client with a body
 * that is too large would never read the error.
 */
function collect(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= LIMIT) chunks.push(chunk);
      else reject(tooLarge());
    });
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('aborted', () => reject(badRequest('the client disconnected before it sent the whole body')));
  });
}

const tooLarge = (): ApiError =>
  new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${LIMIT}`);

export type BodyFormat = 'json' | 'yaml' | 'protobuf' | 'cbor';

const FORMATS = new Map<string, BodyFormat>([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
]);

/** The media type without parameters in lower case. Default: JSON. */
export const mediaType = (request: IncomingMessage): string =>
  (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? '';

export function bodyFormat(type: string): BodyFormat {
  const format = FORMATS.get(type);
  if (format === undefined) {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf`,
    );
  }
  return format;
}
