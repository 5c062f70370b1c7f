import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Clock, type Logger, sleep, systemClock } from '@tidegate/kube';
import { type Exchange, unauthorized } from '@tidegate/serving';
import { credentialOf, type Identity } from '../identity/index.ts';
import {
  type ForwardedAnswer,
  type RequestHeaders,
  type Upstream,
  UpstreamUnavailable,
  unavailable,
} from '../upstream/index.ts';
import { contentOf, type Document, documentOf } from './document.ts';
import { type DocumentMap, Documents } from './documents.ts';
import { documentPath, isDocument } from './paths.ts';
import { warm } from './warm.ts';

export interface DiscoveryOptions {
  upstream: Pick<Upstream, 'online' | 'onChange' | 'forward'>;
  map: DocumentMap;
  log: Logger;
  clock?: Clock;
  /** Receives which tokens the API server accepted and rejected. */
  tokens?: { accepted(token: string): Promise<void>; rejected(token: string): Promise<void> };
}

/** A request for a path that is not a resource. */
interface DocumentCall {
  readonly exchange: Exchange;
  readonly url: URL;
  readonly identity: Identity;
  readonly signal: AbortSignal;
}

/** A document that a client requests, and how. */
interface Question {
  path: string;
  /** The requested path, with its query. */
  target: string;
  headers: RequestHeaders;
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
  async serve({ exchange, url, identity, signal }: DocumentCall): Promise<boolean> {
    const { request, response } = exchange;
    const path = documentPath(url.pathname);
    if (request.method !== 'GET' || !isDocument(path)) return false;
    const question = {
      path,
      target: request.url ?? path,
      headers: request.headersDistinct,
      identity,
      signal,
    };
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
  async #ask({ path, target, headers, identity, signal }: Question): Promise<Outcome> {
    const known = await this.#documents.find(path, headers.accept?.join());
    const etag = known?.headers.etag;
    const answer = await this.#options.upstream.forward({
      method: 'GET',
      path: target,
      // The ETag is that of the hub's copy, which may differ from the copy of the client. `sendDocument`
      // compares the result with the ETag that the client sent.
      headers: {
        ...headers,
        'accept-encoding': ['gzip'],
        'if-none-match': etag === undefined ? undefined : [etag],
      },
      credential: credentialOf(identity),
      signal,
    });
    await this.#reportToken(identity, answer.status);
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
  async #recall({ path, headers, identity }: Question, cause: UpstreamUnavailable): Promise<Outcome> {
    if (identity.kind === 'anonymous') throw unauthorized();
    const document = await this.#documents.find(path, headers.accept?.join());
    if (document !== undefined) return { document };
    throw unavailable(
      `the API server is unreachable, and this node has no copy of ${path} in a format that the client accepts: ${cause.message}`,
      cause,
    );
  }

  /** Requests a document with the credentials of the node. */
  async #refresh(path: string, accept: string, signal: AbortSignal): Promise<Document | undefined> {
    const outcome = await this.#ask({
      path,
      target: path,
      headers: { accept: [accept] },
      identity: NODE,
      signal,
    });
    if ('document' in outcome) return outcome.document;
    this.#options.log.debug(
      { path, status: outcome.answer.status },
      'the API server did not return a discovery document',
    );
    outcome.answer.body.resume();
    return undefined;
  }

  async #reportToken(identity: Identity, status: number): Promise<void> {
    if (identity.kind !== 'bearer') return;
    if (status === 401) await this.#options.tokens?.rejected(identity.token);
    else await this.#options.tokens?.accepted(identity.token);
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
