import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Clock, type Logger, sleep, systemClock } from '@tidegate/kube';
import { type Exchange, type RequestTarget, unauthorized } from '@tidegate/serving';
import { type BearerIdentity, credentialOf, type Identity } from '../identity/index.ts';
import { type ForwardedAnswer, type Upstream, UpstreamUnavailable, unavailable } from '../upstream/index.ts';
import { contentOf, type Document, documentOf } from './document.ts';
import { type DocumentMap, Documents } from './documents.ts';
import { documentPath, isDocument, isPlain } from './paths.ts';
import { isKnownForm } from './variants.ts';
import { warm } from './warm.ts';

export interface DiscoveryOptions {
  upstream: Pick<Upstream, 'online' | 'onChange' | 'forward'>;
  map: DocumentMap;
  log: Logger;
  clock?: Clock;
  /** Decides which clients get stored documents. */
  tokens: {
    /** See `Authenticator.prove`. */
    prove(identity: Identity, signal: AbortSignal): Promise<void>;
    /** Called when the API server has answered 401. */
    suspect(identity: BearerIdentity): Promise<void>;
  };
}

/** A request for a path that is not a resource. */
interface DocumentCall {
  readonly exchange: Exchange;
  readonly target: RequestTarget;
  readonly identity: Identity;
  readonly signal: AbortSignal;
}

/** A document that a client requests, and how. */
interface Question {
  path: string;
  /** The media types that the client accepts. */
  accept: string | undefined;
  identity: Identity;
  signal: AbortSignal;
}

/** A document that may be stored, or any other response of the API server. */
type Outcome = { document: Document } | { answer: ForwardedAnswer };

const NODE: Identity = { kind: 'node', key: 'node' };
/**
 * The wait before another attempt to fetch the documents, if that failed although an API server is reachable.
 */
const RETRY_MS = 30_000;

/**
 * Keeps copies of the discovery documents. While an API server is reachable, every request goes to it with
 * the credentials of the client, and the response is stored. While none is reachable, the hub answers with
 * the stored copy.
 *
 * The hub asks every time, rather than answering from a copy, because discovery has no watch: a copy can miss
 * a CRD that was created a moment ago. An ETag makes this cheap.
 */
export class DiscoveryCache {
  readonly #options: DiscoveryOptions;
  readonly #documents: Documents;

  private constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#documents = new Documents(options.map);
  }

  static async open(options: DiscoveryOptions): Promise<DiscoveryCache> {
    return new DiscoveryCache(options);
  }

  /**
   * Fetches the most important documents at start and each time the link is restored. Returns when the signal
   * is aborted.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { upstream, log, clock = systemClock } = this.#options;
    while (!signal.aborted) {
      await this.#linkIs(true, signal);
      try {
        await warm(this.#documents, (path, accept) => this.#refresh(path, accept, signal));
        await this.#linkIs(false, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'cannot read the discovery documents of the API server; retrying');
        if (upstream.online) await sleep(clock, RETRY_MS, signal).catch(() => {}); // Rejects when aborted.
      }
    }
  }

  /**
   * Answers a request for a discovery document. Resolves to false if the path is not such a document. Throws
   * the error for the client.
   */
  async serve({ exchange, target, identity, signal }: DocumentCall): Promise<boolean> {
    const { request, response } = exchange;
    const path = documentPath(target.pathname);
    const accept = request.headersDistinct.accept?.join();
    if (request.method !== 'GET' || !isDocument(path)) return false;
    if (!isPlain(target.searchParams) || !isKnownForm(accept)) return false;
    const question = { path, accept, identity, signal };
    const outcome = await this.#ask(question).catch((error: unknown) => {
      if (error instanceof UpstreamUnavailable) return this.#recall(question, error);
      throw error;
    });
    if ('document' in outcome) {
      await sendDocument(exchange, outcome.document);
    } else {
      response.writeHead(outcome.answer.status, outcome.answer.headers);
      await pipeline(outcome.answer.body, response);
    }
    return true;
  }

  /** Requests the document from an API server and stores it. */
  async #ask({ path, accept, identity, signal }: Question): Promise<Outcome> {
    const known = await this.#documents.find(path, accept);
    const etag = known?.headers.etag;
    const answer = await this.#options.upstream.forward({
      method: 'GET',
      // What is stored under a path must be the answer to exactly this path, for every client. So nothing else of the
      // client's request is forwarded: no query, no conditions, no ranges.
      path,
      // The ETag is that of the hub's copy, which may differ from the copy of the client. `sendDocument`
      // compares the result with the ETag that the client sent.
      headers: {
        accept: accept === undefined ? undefined : [accept],
        'accept-encoding': ['gzip'],
        'if-none-match': etag === undefined ? undefined : [etag],
      },
      credential: credentialOf(identity),
      signal,
    });
    if (answer.status === 401 && identity.kind === 'bearer') await this.#options.tokens.suspect(identity);
    if (answer.status === 304 && known !== undefined) {
      answer.body.resume();
      return { document: known };
    }
    if (answer.status === 404) this.#documents.remove(path);
    if (answer.status !== 200) return { answer };
    const document = documentOf(answer.headers, await readWhole(answer.body, signal));
    await this.#documents.put(path, document);
    return { document };
  }

  /**
   * Answers from the stored copy. Every authenticated client gets the same documents, because the API server
   * also serves discovery to all authenticated users (ClusterRole `system:discovery`).
   */
  async #recall({ path, accept, identity, signal }: Question, cause: UpstreamUnavailable): Promise<Outcome> {
    if (identity.kind === 'anonymous') throw unauthorized();
    await this.#options.tokens.prove(identity, signal);
    const document = await this.#documents.find(path, accept);
    if (document !== undefined) return { document };
    throw unavailable(
      `the API server is unreachable, and this node has no copy of ${path} in a format that the client accepts: ${cause.message}`,
      cause,
    );
  }

  /** Requests a document with the credentials of the node. */
  async #refresh(path: string, accept: string, signal: AbortSignal): Promise<Document | undefined> {
    const outcome = await this.#ask({ path, accept, identity: NODE, signal });
    if ('document' in outcome) return outcome.document;
    this.#options.log.debug(
      { path, status: outcome.answer.status },
      'the API server did not return a discovery document',
    );
    outcome.answer.body.resume();
    return undefined;
  }

  /** Resolves when the API servers are reachable (or unreachable), or when the signal is aborted. */
  #linkIs(online: boolean, signal: AbortSignal): Promise<void> {
    const { upstream } = this.#options;
    if (upstream.online === online || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        ignore();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const ignore = upstream.onChange((now) => {
        if (now === online) done();
      });
      signal.addEventListener('abort', done, { once: true });
    });
  }
}

/** A truncated response counts as no response, so that the stored copy is used. */
async function readWhole(body: Readable, signal: AbortSignal): Promise<Buffer> {
  try {
    return await buffer(body);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new UpstreamUnavailable('the connection was closed in the middle of the response', {
      sent: false,
      cause: error,
    });
  }
}

async function sendDocument(
  { request, response }: DocumentCall['exchange'],
  document: Document,
): Promise<void> {
  const { 'content-encoding': encoding, ...headers } = document.headers;
  if (headers.etag !== undefined && request.headers['if-none-match'] === headers.etag) {
    response.writeHead(304, { etag: headers.etag }).end();
    return;
  }
  const asIs = encoding === undefined || /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const body = asIs ? document.body : await contentOf(document);
  response.writeHead(200, {
    ...headers,
    ...(asIs && encoding !== undefined ? { 'content-encoding': encoding } : {}),
    'content-length': body.length,
  });
  response.end(body);
}
