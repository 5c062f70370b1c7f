import { Readable } from 'node:stream';
import type { Credential } from '@tidegate/kube';
import { errors } from '@tidegate/kube/undici';
import type { Dispatcher } from 'undici';
import type { Choose } from './choose.ts';
import { describeError, UpstreamUnavailable } from './errors.ts';
import { type Encoding, encodingOf, type UpstreamServer } from './server.ts';

type Controller = Dispatcher.DispatchController;
type Handler = Dispatcher.DispatchHandler;

export interface FailoverOptions {
  dispatch: Dispatcher.DispatchOptions;
  /** The handler of the caller. */
  handler: Handler;
  credential: Credential;
  choose: Choose<UpstreamServer>;
  /** Called when the request moves from one server to another, or to a new connection. */
  onFailover: (from: UpstreamServer) => void;
  /** Called once, when the exchange has ended. */
  onOver: () => void;
}

/** What the caller can learn about the exchange. undici passes it on as `context`. */
export interface FailoverContext {
  /** The URL of the server that is being tried, or that has answered. */
  server: string;
}

/**
 * Only reads are repeated after the connection failed. A write may have taken effect although no response
 * arrived.
 */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * A request and its response, with as many servers as needed. Until a response has begun, the request moves
 * to the next server if a connection cannot be established. A read also moves if an established connection
 * fails.
 *
 * undici separates the handler of a request, which receives events, from its controller, which can pause and
 * abort it. This class is both: it is the handler of each attempt, and the one controller that the caller
 * sees for all of them.
 */
export class FailoverExchange implements Handler, Controller {
  readonly #options: FailoverOptions;
  readonly #context: FailoverContext = { server: '' };
  readonly #tried = new Set<UpstreamServer>();
  #server: UpstreamServer | undefined;
  /** The controller of the current attempt. */
  #target: Controller | undefined;
  #lastError: unknown;
  /** Whether the current attempt has a connection, over which something may have been sent. */
  #sent = false;
  /** Whether the response has begun. */
  #answering = false;
  /** The encoding of the response. */
  #encoding: Encoding = 'other';
  /** Whether all servers may be tried once more. */
  #secondChance = true;
  #over = false;
  /** Why the caller aborted the exchange; null if it did not. */
  #reason: Error | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  /** Sends the request to the first server. */
  start(): void {
    this.#options.handler.onRequestStart?.(this, this.#context);
    if (!this.#over) this.#attempt();
  }

  // Controller of the caller.

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  get paused(): boolean {
    return this.#target?.paused ?? false;
  }

  pause(): void {
    this.#target?.pause();
  }

  resume(): void {
    this.#target?.resume();
  }

  abort(reason: Error): void {
    if (this.#over || this.aborted) return;
    this.#reason = reason;
    if (this.#target === undefined) this.#fail(reason);
    else this.#target.abort(reason);
  }

  // Handler of each attempt.

  onRequestStart(controller: Controller): void {
    if (this.#over) {
      controller.abort(this.#reason ?? new Error('the request has ended already'));
      return;
    }
    this.#sent = true;
    this.#target = controller;
  }

  onRequestUpgrade(_: Controller, ...[statusCode, headers, socket]: UpgradeArguments): void {
    if (this.#over) {
      socket.destroy();
      return;
    }
    this.#server?.adopt(socket);
    this.#end();
    this.#options.handler.onRequestUpgrade?.(this, statusCode, headers, socket);
  }

  onResponseStart(_: Controller, ...[statusCode, headers, statusMessage]: StartArguments): void {
    if (this.#over) return;
    this.#server?.received(0);
    if (statusCode >= 200) this.#answering = true;
    this.#encoding = encodingOf(headers['content-type']);
    this.#options.handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    if (this.#over) return;
    this.#server?.received(chunk.length, this.#encoding);
    this.#options.handler.onResponseData?.(this, chunk);
  }

  onResponseEnd(_: Controller, trailers: Parameters<NonNullable<Handler['onResponseEnd']>>[1]): void {
    if (this.#over) return;
    this.#end();
    this.#options.handler.onResponseEnd?.(this, trailers);
  }

  onResponseError(_: Controller, error: Error): void {
    if (this.#over) return;
    this.#target = undefined;
    if (this.aborted || isOurFault(error)) {
      this.#fail(error);
      return;
    }
    this.#server?.onSuspicion(error);
    this.#lastError = error;
    if (this.#answering) this.#fail(error);
    else if (!this.#sent || this.#repeatable()) this.#attempt();
    else this.#fail(this.#unavailable('the connection was closed before a response arrived', true));
  }

  #attempt(): void {
    const { choose, credential, dispatch, onFailover } = this.#options;
    const server = choose(this.#tried) ?? this.#again();
    if (server === undefined) {
      this.#fail(this.#unavailable('no API server is reachable', false));
      return;
    }
    if (this.#server !== undefined) onFailover(this.#server);
    this.#server = server;
    this.#context.server = server.url;
    this.#tried.add(server);
    this.#sent = false;
    server
      .connections(credential)
      .dispatch({ ...dispatch, origin: server.origin, path: server.prefix + dispatch.path }, this);
  }

  /**
   * Once per request, all healthy servers may be tried again. The server may have closed an idle connection
   * at the moment it was reused, which is not a failure of the server, and other servers may have become
   * healthy in the meantime.
   */
  #again(): UpstreamServer | undefined {
    if (!this.#secondChance) return undefined;
    this.#secondChance = false;
    return this.#options.choose(new Set());
  }

  /** A stream can only be read once, so a request with one cannot be repeated. */
  #repeatable(): boolean {
    const { method, body } = this.#options.dispatch;
    return REPEATABLE.has(method) && !(body instanceof Readable);
  }

  #unavailable(what: string, sent: boolean): UpstreamUnavailable {
    const { method, path } = this.#options.dispatch;
    const why = this.#lastError === undefined ? '' : `: ${describeError(this.#lastError)}`;
    return new UpstreamUnavailable(`${method} ${path}: ${what}${why}`, { sent, cause: this.#lastError });
  }

  #fail(error: Error): void {
    this.#end();
    this.#options.handler.onResponseError?.(this, error);
  }

  #end(): void {
    this.#over = true;
    this.#options.onOver();
  }
}

type Tail<A> = A extends [unknown, ...infer Rest] ? Rest : never;
type UpgradeArguments = Tail<Parameters<NonNullable<Handler['onRequestUpgrade']>>>;
type StartArguments = Tail<Parameters<NonNullable<Handler['onResponseStart']>>>;

/** The request itself is invalid; no server would accept it. */
const isOurFault = (error: Error): boolean =>
  error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError;
