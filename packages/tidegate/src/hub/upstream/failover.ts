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
  /** Whoever asked. */
  handler: Handler;
  credential: Credential;
  choose: Choose<UpstreamServer>;
  onFailover: (from: UpstreamServer) => void;
  onOver: () => void;
}

/** What an exchange tells of itself to whoever asked; undici hands it on as `context`. */
export interface FailoverContext {
  /** The server that is asked, or has answered. */
  server: string;
}

/** A write may have been carried out although no answer came; only reads are repeated. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * One request and its answer, over as many servers as it takes. Until an answer has begun, it goes on to the next one
 * when the connection could not be made, and a read also when it broke.
 *
 * To the pools it is the handler of each attempt; to whoever asked it is the one controller of all of them.
 */
export class FailoverExchange implements Handler, Controller {
  readonly #options: FailoverOptions;
  readonly #context: FailoverContext = { server: '' };
  readonly #tried = new Set<UpstreamServer>();
  #server: UpstreamServer | undefined;
  #target: Controller | undefined;
  #lastError: unknown;
  /** The present attempt has a connection, and something may have been sent over it. */
  #sent = false;
  #answering = false;
  /** Of the answer. */
  #encoding: Encoding = 'other';
  #secondChance = true;
  #over = false;
  #reason: Error | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.handler.onRequestStart?.(this, this.#context);
    if (!this.#over) this.#attempt();
  }

  // The controller of whoever asked.

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

  // The handler of each attempt.

  onRequestStart(controller: Controller): void {
    if (this.#over) {
      controller.abort(this.#reason ?? new Error('nobody waits for the answer any more'));
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
    this.#server?.heard(0);
    if (statusCode >= 200) this.#answering = true;
    this.#encoding = encodingOf(headers['content-type']);
    this.#options.handler.onResponseStart?.(this, statusCode, headers, statusMessage);
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    if (this.#over) return;
    this.#server?.heard(chunk.length, this.#encoding);
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
    else this.#fail(this.#unavailable('the connection broke before an answer came', true));
  }

  #attempt(): void {
    const { choose, credential, dispatch, onFailover } = this.#options;
    const server = choose(this.#tried) ?? this.#again();
    if (server === undefined) {
      this.#fail(this.#unavailable('no API server can be reached', false));
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

  /** A connection that was kept open may be closed at the very moment it is used, and a server come back meanwhile. */
  #again(): UpstreamServer | undefined {
    if (!this.#secondChance) return undefined;
    this.#secondChance = false;
    return this.#options.choose(new Set());
  }

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

/** The request itself can not be sent, to whichever server. */
const isOurFault = (error: Error): boolean =>
  error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError;
