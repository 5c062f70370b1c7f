import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type SecureClientSessionOptions,
} from 'node:http2';
import type { Endpoint, Upstream } from '../../ingress/model.ts';
import { endpointTls, nameSentTo } from '../endpoint-tls.ts';
import { breakOff, writeHead } from './answer.ts';
import { BodyTooLarge, BodyTooSlow, SendTimeout } from './body.ts';
import type { Call, Connector, ConnectorOptions } from './connector.ts';
import type { Exchange } from './exchange.ts';
import { UpstreamFailure } from './failure.ts';
import type { FlatHeaders } from './flat-headers.ts';
import { requestHeaders, responseHeaders, toObject } from './headers.ts';
import { writeWithPatience } from './patience.ts';

/** Sends requests to an endpoint over HTTP/2, with or without TLS. All requests share one connection. */
export class GrpcConnector implements Connector {
  readonly #url: string;
  readonly #options: SecureClientSessionOptions;
  readonly #connectTimeoutMs: number;
  #session: ClientHttp2Session | undefined;
  readonly #established = new WeakSet<ClientHttp2Session>();

  constructor({ address, port }: Endpoint, upstream: Upstream, { connectTimeoutMs, pair }: ConnectorOptions) {
    const isSecure = upstream.tls !== undefined;
    this.#options = isSecure
      ? { ...endpointTls(upstream, pair), servername: nameSentTo(upstream) ?? '' }
      : {};
    this.#url = `${isSecure ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  send(exchange: Exchange, call: Call): Promise<void> {
    const session = this.#connected();
    const isEstablished = (): boolean => this.#established.has(session);
    return new Promise((resolve, reject) => {
      new Relay(exchange, call, { session, isEstablished }, { resolve, reject }).start();
    });
  }

  async close(): Promise<void> {
    const session = this.#session;
    if (session === undefined || session.destroyed) return;
    await new Promise<void>((resolve) => {
      session.once('close', resolve);
      session.close();
    });
  }

  async destroy(): Promise<void> {
    this.#session?.destroy();
  }

  /** A connection that is closing accepts no more requests: the next request opens a new one. */
  #connected(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed)
      return this.#session;
    const session = connect(this.#url, this.#options);
    const giveUp = setTimeout(
      () => session.destroy(new ConnectTimeout('connect timeout')),
      this.#connectTimeoutMs,
    );
    session.once('connect', () => {
      clearTimeout(giveUp);
      this.#established.add(session);
    });
    session.once('close', () => clearTimeout(giveUp));
    // Each stream of the connection gets the error too, and reports it.
    session.on('error', () => {});
    session.on('goaway', () => session.close());
    this.#session = session;
    return session;
  }
}

/** The endpoint did not accept the connection in time. */
class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
}

/** The endpoint sent nothing for too long. */
class ReadTimeout extends Error {
  override readonly name = 'ReadTimeout';
}

/** A connection, and whether it was ever established: only then can the endpoint have received a request. */
interface Connection {
  readonly session: ClientHttp2Session;
  isEstablished(): boolean;
}

interface Outcome {
  resolve(): void;
  reject(error: Error): void;
}

/** Forwards one request and its response, both at the pace of the slower side. */
class Relay {
  readonly #exchange: Exchange;
  readonly #call: Call;
  readonly #connection: Connection;
  readonly #outcome: Outcome;
  /** The headers of the response were sent to the client: from now on a failure can only abort the response. */
  #answering = false;
  /** The complete response was sent to the client. */
  #finished = false;
  #failure: Error | undefined;
  #trailers: FlatHeaders = [];

  constructor(exchange: Exchange, call: Call, connection: Connection, outcome: Outcome) {
    this.#exchange = exchange;
    this.#call = call;
    this.#connection = connection;
    this.#outcome = outcome;
  }

  start(): void {
    const { response } = this.#exchange;
    const { body, readTimeoutMs, sendTimeoutMs } = this.#call;
    const stream = this.#connection.session.request(this.#headers(), { endStream: body === undefined });
    const onGone = (): void => stream.close(constants.NGHTTP2_CANCEL);
    response.once('close', onGone);
    stream.setTimeout(readTimeoutMs, () => {
      stream.destroy(new ReadTimeout('read timeout'));
      // The endpoint may be gone without having closed the connection: further requests use a new one.
      this.#connection.session.close();
    });
    stream.once('response', (_headers: unknown, _flags: unknown, raw: FlatHeaders) =>
      this.#onHead(raw, stream),
    );
    stream.on('trailers', (_headers: unknown, _flags: unknown, raw: FlatHeaders) => {
      this.#trailers = raw;
    });
    stream.on('data', (chunk: Buffer) => writeWithPatience(this.#exchange, chunk, stream));
    stream.once('error', (error: Error) => {
      this.#failure ??= error;
    });
    stream.once('end', () => this.#onEnd(stream));
    stream.once('close', () => {
      response.off('close', onGone);
      this.#onClose();
    });
    if (body !== undefined) {
      const onStall = (error: Error): void => void stream.destroy(error);
      this.#whenEstablished(() => this.#pump(body.read(sendTimeoutMs, onStall), stream));
    }
  }

  /** Reads no body before the connection exists: until then the request can still go to another endpoint. */
  #whenEstablished(then: () => void): void {
    const { session, isEstablished } = this.#connection;
    if (isEstablished()) then();
    else session.once('connect', then);
  }

  #headers(): Record<string, string | string[]> {
    const { method, target, changed } = this.#exchange;
    const { host = '', ...others } = toObject(requestHeaders(this.#exchange));
    return {
      ':method': method,
      ':path': changed?.target ?? target,
      ':scheme': this.#exchange.upstream?.tls === undefined ? 'http' : 'https',
      ':authority': host,
      ...others,
      te: 'trailers',
    };
  }

  #pump(body: AsyncGenerator<Buffer>, stream: ClientHttp2Stream): void {
    const send = async (): Promise<void> => {
      for await (const chunk of body) {
        if (stream.destroyed) return;
        if (!stream.write(chunk)) await untilDrained(stream);
      }
      stream.end();
    };
    send().catch((error: Error) => {
      this.#failure ??= error;
      stream.close(constants.NGHTTP2_CANCEL);
    });
  }

  #onHead(raw: FlatHeaders, stream: ClientHttp2Stream): void {
    const status = Number(raw[raw.indexOf(':status') + 1]);
    const headers = raw.filter((_, at) => !raw[at - (at % 2)]!.startsWith(':'));
    this.#call.onHead();
    try {
      writeHead(this.#exchange, status, responseHeaders(headers, this.#exchange));
      this.#answering = true;
    } catch (error) {
      stream.destroy(error as Error);
    }
  }

  /**
   * The endpoint has sent its whole response, and needs no more of the request. A reset ends the stream in the same
   * way.
   */
  #onEnd(stream: ClientHttp2Stream): void {
    if (!this.#answering || stream.rstCode !== constants.NGHTTP2_NO_ERROR) return;
    this.#finished = true;
    if (this.#trailers.length > 0) this.#exchange.response.addTrailers(toObject(this.#trailers));
    this.#exchange.response.end();
    if (!stream.writableEnded) stream.close(constants.NGHTTP2_CANCEL);
  }

  #onClose(): void {
    if (this.#answering && !this.#finished) breakOff(this.#exchange);
    if (this.#answering || this.#exchange.gone) this.#outcome.resolve();
    else this.#outcome.reject(this.#why());
  }

  /** The failure as the handler expects it. */
  #why(): Error {
    const error = this.#failure ?? new Error('the endpoint did not answer');
    if (error instanceof BodyTooLarge || error instanceof BodyTooSlow) return error;
    const timedOut = [ReadTimeout, ConnectTimeout, SendTimeout].some((each) => error instanceof each);
    const sent = this.#connection.isEstablished();
    return new UpstreamFailure(timedOut ? 'timeout' : sent ? 'broken' : 'connect', sent, error);
  }
}

const untilDrained = (stream: ClientHttp2Stream): Promise<void> =>
  new Promise((resolve) => {
    const goOn = (): void => {
      stream.off('drain', goOn);
      stream.off('close', goOn);
      resolve();
    };
    stream.once('drain', goOn);
    stream.once('close', goOn);
  });
