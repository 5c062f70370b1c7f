import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from '@tidegate/kube';
import { OpenSockets } from '@tidegate/serving';
import { BodyMemory } from './body-memory.ts';
import {
  type AdmissionRequest,
  type Envelope,
  headIn,
  type RefusalCode,
  readReview,
  refusalOf,
  reviewResponse,
} from './review.ts';
import { ClientGoneError, lifetimeOf, ReviewTimeoutError } from './review-lifetime.ts';
import { QueueFullError, ReviewQueue } from './review-queue.ts';
import { type AdmissionRule, ruleFor } from './rule.ts';

export const VALIDATE_PATH = '/validate';
export const MUTATE_PATH = '/mutate';

/** What callers may use. Tests use smaller limits. */
export interface ServerLimits {
  /** Of one review of a rule without a limit of its own. */
  bodyBytes: number;
  /** Of a review whose beginning does not show its resource, so that no API server wrote it. */
  unknownBytes: number;
  /** Of the bodies of all reviews that are being read or evaluated. */
  allBytes: number;
  /** An API server has one address, and needs a connection for each review. By default it handles up to 600 requests. */
  connectionsPerAddress: number;
  /** For the TLS handshake, and for the whole request. API servers wait for 5 seconds. */
  timeoutMs: number;
  /** For the evaluation of a review. Less than the five seconds of API servers, so that users see why it failed. */
  evaluationMs: number;
  waitingReviews: number;
  waitingReviewsPerTenant: number;
  runningReviewsPerTenant: number;
}

const LIMITS: ServerLimits = {
  bodyBytes: 2 * 1024 * 1024,
  unknownBytes: 256 * 1024,
  allBytes: 64 * 1024 * 1024,
  connectionsPerAddress: 1_000,
  timeoutMs: 5_000,
  evaluationMs: 4_000,
  waitingReviews: 1_000,
  waitingReviewsPerTenant: 50,
  runningReviewsPerTenant: 10,
};

/** Which clients may send reviews: those with a certificate of this authority, for one of these names. */
export interface ClientAuthentication {
  /** PEM. */
  authority: string;
  /** Common names. Empty: every certificate of the authority. */
  names: readonly string[];
}

export interface ServerOptions {
  host: string;
  /** 0 chooses a free port. */
  port: number;
  certificate: { certificate: string; key: string };
  /** Without it, every client that can connect may send reviews. */
  clients?: ClientAuthentication | undefined;
  rules: readonly AdmissionRule[];
  limits?: Partial<ServerLimits>;
  log: Logger;
}

/** The HTTPS server of the admission webhooks. */
export class AdmissionServer {
  readonly #server: Server;
  readonly #sockets: OpenSockets;
  readonly #memory: BodyMemory;
  readonly #queue: ReviewQueue;
  readonly #limits: ServerLimits;
  readonly #clients: ClientAuthentication | undefined;
  readonly #rules: readonly AdmissionRule[];
  readonly #log: Logger;

  private constructor({ certificate, clients, rules, limits, log }: ServerOptions) {
    this.#limits = { ...LIMITS, ...limits };
    const { allBytes, connectionsPerAddress, timeoutMs } = this.#limits;
    this.#sockets = new OpenSockets({
      most: connectionsPerAddress,
      groupOf: ({ remoteAddress }) => remoteAddress ?? '',
    });
    this.#memory = new BodyMemory(allBytes);
    this.#queue = new ReviewQueue({
      most: this.#limits.waitingReviews,
      mostPerTenant: this.#limits.waitingReviewsPerTenant,
      runningPerTenant: this.#limits.runningReviewsPerTenant,
    });
    this.#clients = clients;
    this.#rules = rules;
    this.#log = log;
    const options = {
      cert: certificate.certificate,
      key: certificate.key,
      minVersion: 'TLSv1.2' as const,
      handshakeTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      // Slow clients are found within a fraction of the timeout.
      connectionsCheckingInterval: Math.ceil(timeoutMs / 5),
      ...(clients !== undefined && { ca: clients.authority, requestCert: true, rejectUnauthorized: true }),
    };
    this.#server = createServer(options, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        if (request.destroyed && !request.complete) return; // The client is gone, or was too slow.
        this.#log.error({ err: error, path: request.url }, 'admission request failed unexpectedly');
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    });
    this.#server.on('connection', (socket: Socket) => this.#sockets.add(socket));
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  static async listen(options: ServerOptions): Promise<AdmissionServer> {
    const admission = new AdmissionServer(options);
    await new Promise<void>((resolve, reject) => {
      admission.#server.once('error', reject);
      admission.#server.listen(options.port, options.host, () => {
        admission.#server.off('error', reject);
        resolve();
      });
    });
    return admission;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections get the new certificate. Open connections stay open. */
  renew({ certificate, key }: { certificate: string; key: string }): void {
    const ca = this.#clients?.authority;
    this.#server.setSecureContext({ cert: certificate, key, ...(ca !== undefined && { ca }) });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const forceClose = setTimeout(() => this.#sockets.closeAll(), 2_000);
    await closed;
    clearTimeout(forceClose);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    if (path === '/healthz' || path === '/readyz') return end(response, 200, 'ok');
    if (path !== VALIDATE_PATH && path !== MUTATE_PATH)
      return end(response, 404, `path ${path} not found; send reviews to ${VALIDATE_PATH} or ${MUTATE_PATH}`);
    if (request.method !== 'POST') return end(response, 405, 'method not allowed; send reviews with POST');
    const stranger = this.#strangerIn(request);
    if (stranger !== undefined)
      return end(response, 403, `client certificate of ${JSON.stringify(stranger)} is not accepted`);
    response.once('close', this.#sockets.use(request.socket));
    let reserved = 0;
    const reserve = (bytes: number): boolean => {
      if (!this.#memory.reserve(bytes)) return false;
      reserved += bytes;
      return true;
    };
    try {
      const mutating = path === MUTATE_PATH;
      const body = await read(request, (head) => this.#mostBytes(head, mutating), reserve);
      if ('code' in body) this.#refuse(body, response);
      else await this.#answer(body, mutating, response);
    } finally {
      this.#memory.release(reserved);
    }
  }

  /** The name in the client certificate if it is not one that may send reviews. */
  #strangerIn({ socket }: IncomingMessage): string | undefined {
    const { names = [] } = this.#clients ?? {};
    if (names.length === 0) return undefined;
    const name = (socket as TLSSocket).getPeerCertificate().subject?.CN ?? '';
    return names.includes(name) ? undefined : name;
  }

  /** How large a review with this beginning may be. */
  #mostBytes(text: string, mutating: boolean): number {
    const { bodyBytes, unknownBytes } = this.#limits;
    const head = headIn(text);
    if (head === undefined) return unknownBytes;
    const { group, resource, subResource } = head.resource;
    const rules = this.#rules.filter(
      (rule) =>
        (rule.mutates ?? false) === mutating &&
        rule.group === group &&
        rule.resource === resource &&
        (rule.subresource ?? '') === subResource,
    );
    return rules.length === 0
      ? unknownBytes
      : Math.max(...rules.map(({ mostBytes = bodyBytes }) => mostBytes));
  }

  /** Parsing takes a moment too, so it waits for its turn. The beginning shows the tenant. */
  async #answer({ text, head }: Body, mutating: boolean, response: ServerResponse): Promise<void> {
    let envelope: Envelope | undefined = headIn(head);
    let rule: AdmissionRule | undefined;
    const { signal, end: endOfReview } = lifetimeOf(response, this.#limits.evaluationMs);
    try {
      const parse = () => parsed(text);
      const review = await this.#queue.run(`namespace ${headIn(head)?.namespace ?? ''}`, parse, signal);
      if (review instanceof Error) return end(response, 400, review.message);
      const { apiVersion, request } = review;
      envelope = review;
      const tenant = tenantOf(request);
      rule = ruleFor(this.#rules, request, mutating);
      const turn = () => this.#queue.turn(tenant, signal);
      const evaluate = () => rule?.evaluate(request, turn) ?? {};
      const result = await this.#queue.run(tenant, evaluate, signal);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reviewResponse(apiVersion, request, result)));
    } catch (error) {
      if (error instanceof ClientGoneError) return;
      if (error instanceof QueueFullError)
        deny(response, 429, `too many admission reviews: ${error.message}; try again`, envelope);
      else if (error instanceof ReviewTimeoutError) {
        // With `Ignore`, a manager without enough CPU time must not block the cluster.
        const to = rule?.failurePolicy === 'Fail' ? envelope : undefined;
        deny(response, 504, `${error.message}: make it smaller, or try again`, to);
      } else throw error;
    } finally {
      endOfReview();
    }
  }

  #refuse({ code, head, most }: Refused, response: ServerResponse): void {
    const text =
      code === 413
        ? `the object is too large: its admission review exceeds the limit of ${most} bytes; split it`
        : 'too many large admission reviews at the same time; try again';
    // The rest of the body is not read. It would be taken for the next request.
    response.setHeader('connection', 'close');
    deny(response, code, text, headIn(head));
  }
}

/** Tenants are namespaces. For cluster-scoped objects, the user counts. */
const tenantOf = ({ namespace, userInfo }: AdmissionRequest): string =>
  namespace ? `namespace ${namespace}` : `user ${userInfo.username}`;

function end(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain' });
  response.end(`${text}\n`);
}

/**
 * Denies a request that was not evaluated. An error of HTTP would let it pass if the failure policy is `Ignore`, and a user
 * could bypass the rules with a large object.
 */
function deny(response: ServerResponse, code: RefusalCode, text: string, to: Envelope | undefined): void {
  if (to === undefined) end(response, code, text);
  else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(refusalOf(to, code, text)));
  }
}

function parsed(text: string): ReturnType<typeof readReview> | Error {
  try {
    return readReview(text);
  } catch (error) {
    return error as Error;
  }
}

/** A body, and its beginning. */
interface Body {
  readonly text: string;
  readonly head: string;
}

/** A body that was not read, its beginning, and its limit. */
interface Refused {
  readonly code: 413 | 429;
  readonly head: string;
  readonly most: number;
}

/** Enough for everything before the user in a review, with the longest names. */
const HEAD_BYTES = 2048;

/** Reads the body. Refuses it with 413 if it is larger than the limit, with 429 if there is no memory for it now. */
async function read(
  request: IncomingMessage,
  mostFor: (head: string) => number,
  reserve: (bytes: number) => boolean,
): Promise<Body | Refused> {
  const chunks: Buffer[] = [];
  let [size, head, most] = [0, '', 0];
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    const isHead = size < HEAD_BYTES;
    size += chunk.length;
    chunks.push(chunk);
    if (isHead) {
      head = Buffer.concat(chunks).toString('utf8', 0, HEAD_BYTES);
      most = mostFor(head);
    }
    if (size > most) return { code: 413, head, most };
    if (!reserve(chunk.length)) return { code: 429, head, most };
  }
  return { text: Buffer.concat(chunks).toString('utf8'), head };
}
