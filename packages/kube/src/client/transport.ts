import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type Clock, childController, orAborted, type Random, sleep, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { ClusterConfig, Credential } from '../config/cluster.ts';
import { type Connections, Dispatchers } from './dispatchers.ts';
import { ApiStatusError, ConnectionError, DeadlineError } from './errors.ts';
import { type Query, queryString } from './options.ts';
import { statusIn } from './protobuf.ts';
import { resetRetryMs, retryAfterMs } from './retry.ts';
import { request as undiciRequest } from './undici.ts';

/** A request to any path of the API server. The client adds the server, the credential and default headers. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Query;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

export interface HttpResponse {
  code: number;
  /** Empty when the server did not send one. */
  contentType: string;
  body: Buffer;
}

/** An answer whose body is still arriving. */
export interface HttpStream {
  contentType: string;
  chunks: AsyncIterable<Buffer>;
}

/** Options that apply to every request of a client. */
export interface TransportOptions {
  /** `program/version`: identifies this client in the logs and priority levels of the server. */
  userAgent?: string;
  /** How long to wait for a complete answer, watches excepted. Default: 32 seconds. */
  deadlineMs?: number;
  /**
   * How often to repeat a request that the server rejected with Retry-After, or a read whose connection broke.
   * Default: 5.
   */
  maxRetries?: number;
  clock?: Clock;
  random?: Random;
  log?: Logger;
  /** Connections to share with others. Default: the client opens its own, to the server of its configuration. */
  connections?: Connections;
}

/** A request, and the moment of the monotonic clock at which its deadline passes. */
type TimedRequest = HttpRequest & { endsAt?: number };

type Answer = Dispatcher.ResponseData;
const inflate = promisify(gunzip);

/** HTTP to one API server: credentials, deadlines, retries. Errors are typed; bodies are passed through. */
export class Transport {
  readonly #config: ClusterConfig;
  readonly #connections: Connections;
  readonly #base: string;
  readonly #userAgent: string;
  readonly #deadlineMs: number;
  readonly #maxRetries: number;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Logger;

  constructor(config: ClusterConfig, options: TransportOptions = {}) {
    this.#config = config;
    this.#connections = options.connections ?? new Dispatchers(config);
    this.#base = config.server.replace(/\/+$/, '');
    this.#userAgent = options.userAgent ?? `node/${process.versions.node}`;
    this.#deadlineMs = options.deadlineMs ?? 32_000;
    this.#maxRetries = options.maxRetries ?? 5;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#log = options.log ?? silentLogger;
  }

  /** Sends a request, waits for the complete answer, and throws ApiStatusError if it is an error. */
  async call(request: HttpRequest, deadlineMs = this.#deadlineMs): Promise<HttpResponse> {
    const { controller, release } = childController(request.signal);
    const expire = (): void => controller.abort(new DeadlineError(this.#describe(request), deadlineMs));
    const cancelDeadline = this.#clock.after(deadlineMs, expire);
    try {
      const endsAt = this.#clock.monotonic() + deadlineMs;
      return await this.#exchange({ ...request, signal: controller.signal, endsAt });
    } finally {
      cancelDeadline();
      release();
    }
  }

  /**
   * Sends a request and returns the body as it arrives, until it ends or `signal` is aborted. The deadline limits how long it waits
   * for a server that refuses it for now, so that the caller learns the reason.
   */
  async open(request: HttpRequest): Promise<HttpStream> {
    const endsAt = this.#clock.monotonic() + this.#deadlineMs;
    const answer = await this.#send({ ...request, endsAt }, { stream: true });
    return { contentType: contentTypeOf(answer), chunks: this.#chunks(request, answer) };
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #exchange(request: TimedRequest): Promise<HttpResponse> {
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#send(request);
      try {
        const body = await this.#read(request, answer);
        return { code: answer.statusCode, contentType: contentTypeOf(answer), body };
      } catch (error) {
        await sleep(this.#clock, this.#repeatAfterMs(request, error, attempt), request.signal);
      }
    }
  }

  async *#chunks(request: HttpRequest, answer: Answer): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of answer.body) yield chunk;
    } catch (error) {
      throw this.#failure(request, error);
    }
  }

  async #send(request: TimedRequest, options: { stream?: boolean } = {}): Promise<Answer> {
    let credential = await orAborted(this.#config.credentials.current(), request.signal);
    let refreshed = false;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request, credential, options.stream === true).catch(
        (e: unknown) => ({ waitMs: this.#repeatAfterMs(request, e, attempt) }),
      );
      if ('waitMs' in outcome) {
        await sleep(this.#clock, outcome.waitMs, request.signal);
        continue;
      }
      if (outcome.statusCode < 400) return this.#accepted(outcome);
      // The token may have been rotated since it was read. One retry with a new credential, then the error is final.
      if (outcome.statusCode === 401 && !refreshed) {
        refreshed = true;
        const other = await orAborted(this.#config.credentials.refresh(credential), request.signal);
        if (other !== credential) {
          await outcome.body.dump();
          credential = other;
          continue;
        }
      }
      const retryAfter = outcome.headers['retry-after'];
      const waitMs = retryAfterMs(outcome.statusCode, single(retryAfter), this.#clock.now());
      if (waitMs === undefined || attempt >= this.#maxRetries || this.#isTooLong(waitMs, request))
        return await this.#refused(request, outcome);
      await outcome.body.dump();
      this.#log.debug({ code: outcome.statusCode, waitMs }, 'the API server asked to retry later');
      await sleep(this.#clock, waitMs, request.signal);
    }
  }

  /** Whether the deadline would pass while the request waits. What the server has answered is then the better error. */
  #isTooLong(waitMs: number, { endsAt = Number.POSITIVE_INFINITY }: TimedRequest): boolean {
    return this.#clock.monotonic() + waitMs >= endsAt;
  }

  /** Throws the error if the request must not be retried. */
  #repeatAfterMs({ method }: HttpRequest, error: unknown, attempt: number): number {
    const waitMs = resetRetryMs(method, error, attempt, this.#random);
    if (waitMs === undefined || attempt >= this.#maxRetries) throw error;
    return waitMs;
  }

  async #attempt(request: HttpRequest, credential: Credential, stream: boolean): Promise<Answer> {
    const compress = !stream && this.#config.disableCompression !== true;
    try {
      const answer = undiciRequest(this.#url(request), {
        dispatcher: this.#connections.for(credential),
        method: request.method,
        headers: {
          accept: 'application/json',
          'user-agent': this.#userAgent,
          ...(compress ? { 'accept-encoding': 'gzip' } : {}),
          ...(credential.authorization === undefined ? {} : { authorization: credential.authorization }),
          ...impersonationHeaders(this.#config),
          ...request.headers,
        },
        body: request.body,
        signal: request.signal,
        // No timeouts in undici: deadlines are handled here, and a quiet watch is not a broken one.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      // undici notices an abort when it has a connection, and an attempt to connect can take half a minute.
      return await orAborted(answer, request.signal);
    } catch (error) {
      throw this.#failure(request, error);
    }
  }

  async #read(request: HttpRequest, answer: Answer): Promise<Buffer> {
    try {
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const gzipped = answer.headers['content-encoding'] === 'gzip';
      return gzipped ? await inflate(bytes) : bytes;
    } catch (error) {
      throw this.#failure(request, error);
    }
  }

  async #refused(request: HttpRequest, answer: Answer): Promise<never> {
    const body = await this.#read(request, answer);
    throw new ApiStatusError(
      statusIn(answer.statusCode, contentTypeOf(answer), body),
      this.#describe(request),
    );
  }

  #accepted(answer: Answer): Answer {
    const warnings = answer.headers.warning;
    for (const warning of warnings === undefined ? [] : [warnings].flat()) {
      this.#log.warn({ warning }, 'the API server sent a warning');
    }
    return answer;
  }

  /** If the caller aborted the request, it gets its own reason back; any other error is a connection error. */
  #failure(request: HttpRequest, error: unknown): unknown {
    if (request.signal?.aborted === true) return request.signal.reason;
    return new ConnectionError(this.#describe(request), error);
  }

  #url({ path, query }: HttpRequest): string {
    return `${this.#base}${path}${queryString(query ?? {})}`;
  }

  #describe(request: HttpRequest): string {
    return `${request.method} ${this.#url(request)}`;
  }
}

function impersonationHeaders({ impersonate }: ClusterConfig): Record<string, string | string[]> {
  if (impersonate === undefined) return {};
  const headers: Record<string, string | string[]> = { 'impersonate-user': impersonate.user };
  if (impersonate.uid !== undefined) headers['impersonate-uid'] = impersonate.uid;
  if (impersonate.groups !== undefined) headers['impersonate-group'] = impersonate.groups;
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key)}`] = values;
  }
  return headers;
}

const contentTypeOf = ({ headers }: Answer): string => single(headers['content-type']) ?? '';

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;
