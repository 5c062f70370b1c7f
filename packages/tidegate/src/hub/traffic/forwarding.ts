import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { credentialOf } from '../identity/credential.ts';
import type { BearerIdentity } from '../identity/identity.ts';
import { type ForwardedAnswer, type Upstream, UpstreamUnavailable } from '../upstream/index.ts';
import type { Call } from './call.ts';
import { badAnswer } from './failures.ts';

/** Told what the API server thinks of tokens. */
export interface TokenListener {
  accepted(identity: BearerIdentity): void;
  rejected(identity: BearerIdentity): void;
}

/** More than this is not held in memory to be looked at. */
const MOST_BUFFERED = 64 * 1024 * 1024;

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
    const answer = await this.#openJson(call, body);
    return { ...answer, body: await readAll(answer.body) };
  }

  /** The same, but what is too much to be held goes to the client as it comes. Undefined then. */
  async readJsonOrPass(call: Call): Promise<WholeAnswer | undefined> {
    const answer = await this.#openJson(call);
    const { chunks, ended } = await readMost(answer.body);
    if (ended) return { ...answer, body: Buffer.concat(chunks) };
    const all = Readable.from(inTurn(chunks, answer.body), { objectMode: false });
    await passBack(call, { ...answer, body: all });
    return undefined;
  }

  /** In JSON, unzipped, as it comes. */
  async #openJson(call: Call, body?: Buffer): Promise<ForwardedAnswer> {
    const asked = { accept: ['application/json'], 'accept-encoding': ['gzip'] };
    const answer = await this.send(call, { headers: asked, ...(body === undefined ? {} : { body }) });
    const { 'content-encoding': encoding, 'content-length': _, ...headers } = answer.headers;
    if (encoding !== 'gzip') return { ...answer, headers };
    const plain = createGunzip();
    pipeline(answer.body, plain).catch(() => {}); // Whoever reads `plain` hears of it.
    return { ...answer, headers, body: plain };
  }
}

async function* inTurn(chunks: Buffer[], rest: Readable): AsyncGenerator<Buffer> {
  yield* chunks;
  yield* rest as AsyncIterable<Buffer>;
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
  const { chunks, ended } = await readMost(body);
  if (ended) return Buffer.concat(chunks);
  body.destroy();
  throw badAnswer(
    `the answer of the API server has more than the ${MOST_BUFFERED} bytes that the hub looks through; ask for it in pages`,
  );
}

/** Up to the end of the body, or to where it becomes too much. */
async function readMost(body: Readable): Promise<{ chunks: Buffer[]; ended: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MOST_BUFFERED) return { chunks, ended: false };
    }
    return { chunks, ended: true };
  } catch (error) {
    if (/^Z_/.test(`${(error as NodeJS.ErrnoException).code}`))
      throw badAnswer('the answer of the API server can not be unzipped', error);
    throw new UpstreamUnavailable('the connection broke in the middle of the answer', {
      sent: false,
      cause: error,
    });
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
