import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { KubeObject } from '../../kube/index.ts';
import { ApiError } from '../../kube/serving/api-error.ts';
import type { BearerIdentity, Identity } from '../identity/identity.ts';
import {
  type ForwardedAnswer,
  type Upstream,
  type UpstreamCredential,
  UpstreamUnavailable,
} from '../upstream/index.ts';
import type { Call } from './call.ts';
import { badAnswer } from './failures.ts';

/** Told what the API server thinks of tokens. */
export interface TokenListener {
  accepted(identity: BearerIdentity): void;
  rejected(identity: BearerIdentity): void;
}

const inflate = promisify(gunzip);
/** More than this is not held in memory to be looked at. */
export const MOST_BUFFERED = 64 * 1024 * 1024;

export const credentialOf = (identity: Identity): UpstreamCredential => {
  if (identity.kind === 'node') return 'node';
  return identity.kind === 'bearer' ? { token: identity.token } : 'none';
};

/** An answer that was read to its end. */
export interface WholeAnswer {
  status: number;
  headers: ForwardedAnswer['headers'];
  body: Buffer;
}

/** Passes requests on to an API server under the identity of whoever asks. */
export class Forwarding {
  readonly #upstream: Pick<Upstream, 'forward'>;
  readonly #tokens: TokenListener;

  constructor(upstream: Pick<Upstream, 'forward'>, tokens: TokenListener) {
    this.#upstream = upstream;
    this.#tokens = tokens;
  }

  /** The answer as it comes. `body` where it was read already; `headers` go in the place of the client's. */
  async send(
    { exchange: { request }, identity, signal }: Call,
    { body, headers = {} }: { body?: Buffer; headers?: Record<string, string[]> } = {},
  ): Promise<ForwardedAnswer> {
    const streamed = hasBody(request.headers) ? request : undefined;
    const sent = body ?? streamed;
    const answer = await this.#upstream.forward({
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: { ...request.headersDistinct, ...headers },
      ...(sent === undefined ? {} : { body: sent }),
      credential: credentialOf(identity),
      signal,
    });
    if (identity.kind === 'bearer') {
      if (answer.status === 401) this.#tokens.rejected(identity);
      else this.#tokens.accepted(identity);
    }
    return answer;
  }

  /** To and fro, untouched. */
  async pass(call: Call, options?: { body?: Buffer }): Promise<void> {
    await passBack(call, await this.send(call, options));
  }

  /** In JSON, read to its end. */
  async readJson(call: Call, body?: Buffer): Promise<WholeAnswer> {
    const headers = { accept: ['application/json'], 'accept-encoding': ['gzip'] };
    const answer = await this.send(call, { headers, ...(body === undefined ? {} : { body }) });
    const bytes = await readAll(answer.body);
    const { 'content-encoding': encoding, 'content-length': _, ...rest } = answer.headers;
    return { status: answer.status, headers: rest, body: encoding === 'gzip' ? await unzip(bytes) : bytes };
  }
}

export async function passBack(
  { exchange: { response } }: Call,
  { status, headers, body }: ForwardedAnswer,
): Promise<void> {
  response.writeHead(status, headers);
  // A watch that has nothing to tell yet has begun all the same.
  response.flushHeaders();
  try {
    await pipeline(body, response);
  } catch (error) {
    // The client sees that it is broken off; whether it was the link or the client that went is not ours to judge.
    if (!response.destroyed) response.destroy(error instanceof Error ? error : undefined);
  }
}

/** An answer to its end; throws UpstreamUnavailable when the link breaks meanwhile. */
export async function readAll(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MOST_BUFFERED) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new UpstreamUnavailable('the connection broke in the middle of the answer', {
      sent: false,
      cause: error,
    });
  }
  if (size <= MOST_BUFFERED) return Buffer.concat(chunks, size);
  throw badAnswer(
    `the answer of the API server has more than the ${MOST_BUFFERED} bytes that the hub looks through; ask for it in pages`,
  );
}

async function unzip(bytes: Buffer): Promise<Buffer> {
  try {
    return await inflate(bytes, { maxOutputLength: 8 * MOST_BUFFERED });
  } catch (error) {
    throw badAnswer('the answer of the API server can not be unzipped', error);
  }
}

/** The body of a client's request. */
export async function readBody({ exchange: { request } }: Call, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new ApiError(413, 'RequestEntityTooLarge', `the body has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

export function passWhole({ exchange: { response } }: Call, { status, headers, body }: WholeAnswer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(body);
}

/** What can not be understood is withheld: it might be what the client must not see. */
export function jsonOf({ body }: WholeAnswer): KubeObject {
  let json: Partial<KubeObject> | null;
  try {
    json = JSON.parse(body.toString('utf8')) as Partial<KubeObject> | null;
  } catch (error) {
    throw badAnswer('the answer of the API server is not JSON, and is withheld', error);
  }
  if (typeof json?.kind !== 'string' || typeof json.metadata !== 'object')
    throw badAnswer('the answer of the API server is neither an object nor a list, and is withheld');
  return json as KubeObject;
}

const hasBody = (headers: Record<string, unknown>): boolean =>
  headers['content-length'] !== undefined
    ? headers['content-length'] !== '0'
    : headers['transfer-encoding'] !== undefined;
