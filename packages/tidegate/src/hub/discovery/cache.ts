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
  /** Told what the API server thinks of tokens. */
  tokens?: { accepted(token: string): Promise<void>; rejected(token: string): Promise<void> };
}

/** A request for a path that is not a resource. */
interface DocumentCall {
  readonly exchange: Exchange;
  readonly url: URL;
  readonly identity: Identity;
  readonly signal: AbortSignal;
}

interface Question {
  path: string;
  /** The path as it was asked for, with its query. */
  target: string;
  headers: RequestHeaders;
  identity: Identity;
  signal: AbortSignal;
}

/** A document, or whatever else the API server answers. */
type Outcome = { document: Document } | { answer: ForwardedAnswer };

const NODE: Identity = { kind: 'node', key: 'node' };
/** When the basics could not be fetched although the link is there. */
const RETRY_MS = 30_000;

/**
 * What there is in the cluster, as its documents say it. While an API server is there it is asked, every time, under
 * the name of whoever asks; what it says is kept, and serves on when it is away.
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

  /** Fetches the basics now and whenever the link is back; returns when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { upstream, log, clock = systemClock } = this.#options;
    while (!signal.aborted) {
      await this.#linkIs(true, signal);
      try {
        await warm(this.#documents, (path, accept) => this.#refresh(path, accept, signal));
        await this.#linkIs(false, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'what the API server offers could not be read');
        if (upstream.online) await sleep(clock, RETRY_MS, signal).catch(() => {}); // Aborted: the loop ends.
      }
    }
  }

  /** Whether it was ours to answer. Throws what the client is to be told. */
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

  async #ask({ path, target, headers, identity, signal }: Question): Promise<Outcome> {
    const known = await this.#documents.find(path, headers.accept?.join());
    const etag = known?.headers.etag;
    const answer = await this.#options.upstream.forward({
      method: 'GET',
      path: target,
      // What the client has is compared with what comes, not with what the server has.
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

  /** For those who have proved who they are: what they may know does not depend on who that is. */
  async #recall({ path, headers, identity }: Question, cause: UpstreamUnavailable): Promise<Outcome> {
    if (identity.kind === 'anonymous') throw unauthorized();
    const document = await this.#documents.find(path, headers.accept?.join());
    if (document !== undefined) return { document };
    throw unavailable(
      `the API server can not be reached, and ${path} was never asked for in this form: ${cause.message}`,
      cause,
    );
  }

  async #refresh(path: string, accept: string, signal: AbortSignal): Promise<Document | undefined> {
    const outcome = await this.#ask({
      path,
      target: path,
      headers: { accept: [accept] },
      identity: NODE,
      signal,
    });
    if ('document' in outcome) return outcome.document;
    this.#options.log.debug({ path, status: outcome.answer.status }, 'a document of discovery is refused');
    outcome.answer.body.resume();
    return undefined;
  }

  async #reportToken(identity: Identity, status: number): Promise<void> {
    if (identity.kind !== 'bearer') return;
    if (status === 401) await this.#options.tokens?.rejected(identity.token);
    else await this.#options.tokens?.accepted(identity.token);
  }

  /** Resolves once it is so, or when the signal is aborted. */
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

/** An answer that breaks off in the middle is none. */
async function readWhole(body: Readable, signal: AbortSignal): Promise<Buffer> {
  try {
    return await buffer(body);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new UpstreamUnavailable('the connection broke in the middle of the answer', {
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
