import type { Duplex } from 'node:stream';
import { Pool as Connections, errors } from '@tidegate/kube/undici';
import type { Dispatcher } from 'undici';
import type { Endpoint, Upstream } from '../../ingress/model.ts';
import { connectToEndpoint, endpointTls, HandshakeTimeout, nameSentTo } from '../endpoint-tls.ts';
import { MAX_RESPONSE_HEAD_BYTES } from '../limits.ts';
import { breakOff, flushHead, writeHead } from './answer.ts';
import { BodyTooLarge, BodyTooSlow, SendTimeout } from './body.ts';
import type { Call, Connector, ConnectorOptions } from './connector.ts';
import type { Exchange } from './exchange.ts';
import { UpstreamFailure } from './failure.ts';
import { type FlatHeaders, headerOf } from './flat-headers.ts';
import { requestHeaders, responseHeaders, toFlat } from './headers.ts';
import { writeWithPatience } from './patience.ts';
import { switchProtocols } from './tunnel.ts';

/** undici opens another connection for another name, and takes the header Host if there is none. */
const NO_NAME = 'unnamed';

/** Sends requests to an endpoint over HTTP/1.1, with or without TLS. */
export class HttpConnector implements Connector {
  readonly #connections: Connections;
  /** The name for SNI, if one is sent. */
  readonly #servername: string | undefined;

  constructor(
    endpoint: Endpoint,
    upstream: Upstream,
    { connectTimeoutMs, largeHead, pair }: ConnectorOptions,
  ) {
    const { address, port } = endpoint;
    const host = address.includes(':') ? `[${address}]` : address;
    this.#servername = upstream.protocol === 'https' ? (nameSentTo(upstream) ?? NO_NAME) : undefined;
    this.#connections = new Connections(`${upstream.protocol}://${host}:${port}`, {
      connections: null,
      pipelining: 1,
      maxHeaderSize: MAX_RESPONSE_HEAD_BYTES[largeHead ? 'large' : 'usual'],
      connect:
        upstream.tls === undefined
          ? { timeout: connectTimeoutMs, ...endpointTls(upstream, pair) }
          : (_, done) => {
              const timeoutMs = connectTimeoutMs;
              connectToEndpoint(upstream, endpoint, { pair, timeoutMs }, (error, socket) => {
                if (error === undefined) done(null, socket);
                else done(error, null);
              });
            },
    });
  }

  send(exchange: Exchange, call: Call): Promise<void> {
    return new Promise((resolve, reject) => {
      const relay = new Relay(exchange, call, resolve, reject);
      this.#connections.dispatch(
        {
          path: exchange.changed?.target ?? exchange.target,
          method: exchange.error?.method ?? exchange.method,
          headers: requestHeaders(exchange),
          body: call.body?.read(call.sendTimeoutMs, (error) => relay.abort(error)),
          upgrade: exchange.upgrade?.protocol ?? null,
          headersTimeout: call.readTimeoutMs,
          bodyTimeout: call.readTimeoutMs,
          ...(this.#servername === undefined ? {} : { servername: this.#servername }),
        } as Dispatcher.DispatchOptions,
        relay,
      );
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  destroy(): Promise<void> {
    return this.#connections.destroy();
  }
}

type Controller = Dispatcher.DispatchController;

/** Forwards the response of the endpoint to the client, at the pace of the slower side. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #call: Call;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #controller: Controller | undefined;
  /** The headers of the response were sent to the client: from now on a failure can only abort the response. */
  #answering = false;

  constructor(exchange: Exchange, call: Call, resolve: () => void, reject: (error: Error) => void) {
    this.#exchange = exchange;
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
    exchange.response.once('close', this.#onClose);
  }

  readonly #onClose = (): void => {
    this.#controller?.abort(new Error('the client closed the connection'));
  };

  /** Ends the attempt. */
  abort(error: Error): void {
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#exchange.gone) this.#onClose();
  }

  onRequestUpgrade(controller: Controller, _: number, __: unknown, server: Duplex): void {
    this.#exchange.response.off('close', this.#onClose);
    this.#call.onHead();
    const headers = toFlat(controller.rawHeaders);
    switchProtocols(this.#exchange, server, {
      headers: withCookie(this.#exchange, responseHeaders(headers, this.#exchange)),
      protocol: headerOf(headers, 'upgrade') ?? '',
      idleMs: this.#call.readTimeoutMs,
    }).then(this.#resolve);
  }

  onResponseStart(controller: Controller, status: number): void {
    if (status < 200) return;
    this.#call.onHead();
    if (this.#call.retriesStatus(status)) {
      controller.abort(new RetriedStatus(status));
      return;
    }
    writeHead(this.#exchange, status, responseHeaders(toFlat(controller.rawHeaders), this.#exchange));
    this.#answering = true;
    // If the body arrived with the headers, both are sent together. Otherwise the headers do not wait for the body.
    process.nextTick(() => flushHead(this.#exchange));
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    writeWithPatience(this.#exchange, chunk, controller);
  }

  /** Trailers are discarded, as by nginx: few clients expect them. For gRPC they are forwarded. */
  onResponseEnd(): void {
    this.#exchange.response.end();
    this.#done();
  }

  onResponseError(_: Controller, error: Error): void {
    if (this.#answering) breakOff(this.#exchange);
    if (this.#answering || this.#exchange.gone) this.#done();
    else this.#fail(error);
  }

  #done(): void {
    this.#exchange.response.off('close', this.#onClose);
    this.#resolve();
  }

  #fail(error: Error): void {
    this.#exchange.response.off('close', this.#onClose);
    if (error instanceof BodyTooLarge || error instanceof BodyTooSlow) this.#reject(error);
    else {
      const status = error instanceof RetriedStatus ? error.status : undefined;
      this.#reject(new UpstreamFailure(kindOf(error, this.#sent), this.#sent, error, status));
    }
  }

  /**
   * undici calls onRequestStart just before it writes the request, so the endpoint may have received it since then.
   */
  get #sent(): boolean {
    return this.#controller !== undefined;
  }
}

const withCookie = ({ cookie }: Exchange, headers: FlatHeaders): FlatHeaders =>
  cookie === undefined ? headers : [...headers, 'Set-Cookie', cookie];

/** The endpoint has answered with a status after which another endpoint gets the request. */
class RetriedStatus extends Error {
  override readonly name = 'RetriedStatus';
  readonly status: number;

  constructor(status: number) {
    super(`the endpoint answered with status ${status}`);
    this.status = status;
  }
}

const TIMEOUTS = [errors.ConnectTimeoutError, errors.HeadersTimeoutError, SendTimeout, HandshakeTimeout];

function kindOf(error: Error, sent: boolean): UpstreamFailure['kind'] {
  if (TIMEOUTS.some((each) => error instanceof each)) {
    return 'timeout';
  }
  return sent ? 'broken' : 'connect';
}
