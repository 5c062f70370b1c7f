import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { type BearerIdentity, credentialOf } from '../identity/index.ts';
import { type Account, UNLIMITED } from '../shares/index.ts';
import { type ForwardedAnswer, type Upstream, UpstreamUnavailable } from '../upstream/index.ts';
import type { AnswerShares } from './answer-shares.ts';
import type { Call } from './call.ts';
import { badGateway, tooMuchUnread } from './failures.ts';

/** Notified of responses that may end what the client may see of the hub's copies. */
export interface RefusalListener {
  /** 401: the token may have been rejected, or a server behind the API server asks for other credentials. */
  unauthorized(identity: BearerIdentity): Promise<void>;
  /** 403. */
  forbidden(call: Call): Promise<void>;
}

/** The largest response that the hub buffers in order to inspect it. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

/** About the largest object that an API server stores, so the largest response to a write. */
const OBJECT_BYTES = 1.5 * 1024 * 1024;

/** A response that has been read completely. */
export interface WholeAnswer {
  status: number;
  headers: ForwardedAnswer['headers'];
  body: Buffer;
}

/** A response that was read completely, or one that is not buffered any further: its body begins with what was read. */
export type ReadAnswer = { whole: WholeAnswer } | { rest: ForwardedAnswer };

/** Forwards requests to an API server with the credentials of the client that sent them. */
export class Forwarding {
  readonly #upstream: Pick<Upstream, 'forward'>;
  readonly #refusals: RefusalListener;
  readonly #shares: AnswerShares;

  constructor(upstream: Pick<Upstream, 'forward'>, refusals: RefusalListener, shares: AnswerShares) {
    this.#upstream = upstream;
    this.#refusals = refusals;
    this.#shares = shares;
  }

  /** Returns the response as a stream. Pass `body` if it was read already. `headers` override those of the client. */
  async send(
    call: Call,
    { body, headers = {} }: { body?: Buffer; headers?: Record<string, string[]> } = {},
  ): Promise<ForwardedAnswer> {
    const { exchange, target, identity, signal } = call;
    const { request } = exchange;
    const streamed = hasBody(request.headers) ? request : undefined;
    const sent = body ?? streamed;
    const answer = await this.#upstream.forward({
      method: request.method ?? 'GET',
      path: target.text,
      headers: { ...request.headersDistinct, ...headers },
      ...(sent === undefined ? {} : { body: sent }),
      credential: credentialOf(identity),
      signal,
    });
    if (answer.status === 401 && identity.kind === 'bearer') await this.#refusals.unauthorized(identity);
    if (answer.status === 403) await this.#refusals.forbidden(call);
    return answer;
  }

  /** Forwards the request, and streams the response to the client unchanged. */
  async pass(call: Call, options?: { body?: Buffer }): Promise<void> {
    await passBack(call, await this.send(call, options));
  }

  /** Asks for JSON, and reads the whole response. Throws 429 if the client has not read earlier responses. */
  async readJson(call: Call, body?: Buffer): Promise<WholeAnswer> {
    const isRead = call.exchange.request.method === 'GET';
    const account = this.#shares.account(call);
    // A write must not be refused after it has taken effect.
    if (!isRead && !account.resize(OBJECT_BYTES)) throw tooMuchUnread();
    const answer = await this.#openJson(call, body);
    const { chunks, end } = await readMost(answer.body, isRead ? account : UNLIMITED);
    if (end === 'complete') return { ...answer, body: Buffer.concat(chunks) };
    answer.body.destroy();
    throw end === 'share' ? tooMuchUnread() : tooLarge();
  }

  /**
   * Like `readJson`, but a response that is too large to buffer is streamed to the client. Returns undefined
   * in that case.
   */
  async readJsonOrPass(call: Call): Promise<WholeAnswer | undefined> {
    const read = await this.read(call, await this.#openJson(call));
    if ('whole' in read) return read.whole;
    await passBack(call, read.rest);
    return undefined;
  }

  /** Reads a response that the client gets unchanged, if it is small enough and the client may use the memory. */
  async read(call: Call, answer: ForwardedAnswer): Promise<ReadAnswer> {
    const { chunks, end } = await readMost(answer.body, this.#shares.account(call));
    if (end === 'complete') return { whole: { ...answer, body: Buffer.concat(chunks) } };
    return { rest: { ...answer, body: Readable.from(inTurn(chunks, answer.body), { objectMode: false }) } };
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

const tooLarge = (): ApiError =>
  badGateway(
    `the response of the API server is larger than ${MAX_BUFFERED_BYTES} bytes, the most that the hub can filter; request it in pages with limit`,
  );

interface Most {
  chunks: Buffer[];
  /** Why the reading ended: the body is complete, it is too large, or the client may not use more memory. */
  end: 'complete' | 'size' | 'share';
}

/** Reads to the end of the body, or until it must not be buffered any further. Throws UpstreamUnavailable. */
async function readMost(body: Readable, account: Account): Promise<Most> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BUFFERED_BYTES) return { chunks, end: 'size' };
      if (!account.resize(size)) return { chunks, end: 'share' };
    }
    return { chunks, end: 'complete' };
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
