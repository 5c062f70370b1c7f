import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { type BearerIdentity, credentialOf } from '../identity/index.ts';
import { type ForwardedAnswer, type Upstream, UpstreamUnavailable } from '../upstream/index.ts';
import type { Call } from './call.ts';
import { badGateway } from './failures.ts';

/** Notified of each response to a request with a bearer token: rejected after 401, accepted after any other status. */
export interface TokenListener {
  accepted(identity: BearerIdentity): Promise<void>;
  rejected(identity: BearerIdentity): Promise<void>;
}

/** The largest response that the hub buffers in order to inspect it. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

/** A response that has been read completely. */
export interface WholeAnswer {
  status: number;
  headers: ForwardedAnswer['headers'];
  body: Buffer;
}

/** Forwards requests to an API server with the credentials of the client that sent them. */
export class Forwarding {
  readonly #upstream: Pick<Upstream, 'forward'>;
  readonly #tokens: TokenListener;

  constructor(upstream: Pick<Upstream, 'forward'>, tokens: TokenListener) {
    this.#upstream = upstream;
    this.#tokens = tokens;
  }

  /** Returns the response as a stream. Pass `body` if it was read already. `headers` override those of the client. */
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
      if (answer.status === 401) await this.#tokens.rejected(identity);
      else await this.#tokens.accepted(identity);
    }
    return answer;
  }

  /** Forwards the request, and streams the response to the client unchanged. */
  async pass(call: Call, options?: { body?: Buffer }): Promise<void> {
    await passBack(call, await this.send(call, options));
  }

  /** Asks for JSON, and reads the whole response. */
  async readJson(call: Call, body?: Buffer): Promise<WholeAnswer> {
    const answer = await this.#openJson(call, body);
    return { ...answer, body: await readAll(answer.body) };
  }

  /**
   * Like `readJson`, but a response that is too large to buffer is streamed to the client. Returns undefined
   * in that case.
   */
  async readJsonOrPass(call: Call): Promise<WholeAnswer | undefined> {
    const answer = await this.#openJson(call);
    const { chunks, ended } = await readMost(answer.body);
    if (ended) return { ...answer, body: Buffer.concat(chunks) };
    const all = Readable.from(inTurn(chunks, answer.body), { objectMode: false });
    await passBack(call, { ...answer, body: all });
    return undefined;
  }

  /** Asks for JSON, and returns the decompressed response as a stream. */
  async #openJson(call: Call, body?: Buffer): Promise<ForwardedAnswer> {
    const asked = { accept: ['application/json'], 'accept-encoding': ['gzip'] };
    const answer = await this.send(call, { headers: asked, ...(body === undefined ? {} : { body }) });
    const { 'content-encoding': encoding, 'content-length': _, ...headers } = answer.headers;
    if (encoding !== 'gzip') return { ...answer, headers };
    const plain = createGunzip();
    pipeline(answer.body, plain).catch(() => {}); // The reader of `plain` gets the error.
    return { ...answer, headers, body: plain };
  }
}

/** The buffered start of a response, then the rest. */
async function* inTurn(chunks: Buffer[], rest: Readable): AsyncGenerator<Buffer> {
  yield* chunks;
  yield* rest as AsyncIterable<Buffer>;
}

/** Streams a response to the client. */
export async function passBack(
  { exchange: { response } }: Call,
  { status, headers, body }: ForwardedAnswer,
): Promise<void> {
  response.writeHead(status, headers);
  // A watch without events must still look open to the client.
  response.flushHeaders();
  try {
    await pipeline(body, response);
  } catch (error) {
    // Either side may have closed the connection. A client that is still there must see a truncated response.
    if (!response.destroyed) response.destroy(error instanceof Error ? error : undefined);
  }
}

/** Reads a whole response. Throws UpstreamUnavailable if the connection breaks. */
export async function readAll(body: Readable): Promise<Buffer> {
  const { chunks, ended } = await readMost(body);
  if (ended) return Buffer.concat(chunks);
  body.destroy();
  throw badGateway(
    `the response of the API server is larger than ${MAX_BUFFERED_BYTES} bytes, the most that the hub can filter; request it in pages with limit`,
  );
}

/** Reads to the end of the body, or until it is too large to buffer. */
async function readMost(body: Readable): Promise<{ chunks: Buffer[]; ended: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BUFFERED_BYTES) return { chunks, ended: false };
    }
    return { chunks, ended: true };
  } catch (error) {
    if (/^Z_/.test(`${(error as NodeJS.ErrnoException).code}`))
      throw badGateway('the hub cannot decompress the response of the API server', error);
    throw new UpstreamUnavailable('the connection was closed before the response was complete', {
      sent: false,
      cause: error,
    });
  }
}

/** Reads the body of a client's request. Throws 413 if it is larger than `most` bytes. */
export async function readBody({ exchange: { request } }: Call, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most)
      throw new ApiError(413, 'RequestEntityTooLarge', `the request body is larger than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Sends a response that was read completely to the client. */
export function passWhole({ exchange: { response } }: Call, { status, headers, body }: WholeAnswer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(body);
}

/** Parses a response. One that cannot be parsed is withheld, because it may contain what the client must not see. */
export function jsonOf({ body }: WholeAnswer): KubeObject {
  let json: Partial<KubeObject> | null;
  try {
    json = JSON.parse(body.toString('utf8')) as Partial<KubeObject> | null;
  } catch (error) {
    throw badGateway('the API server did not return JSON; the hub withholds the response', error);
  }
  if (typeof json?.kind !== 'string' || typeof json.metadata !== 'object')
    throw badGateway('the API server returned neither an object nor a list; the hub withholds the response');
  return json as KubeObject;
}

const hasBody = (headers: Record<string, unknown>): boolean =>
  headers['content-length'] !== undefined
    ? headers['content-length'] !== '0'
    : headers['transfer-encoding'] !== undefined;
