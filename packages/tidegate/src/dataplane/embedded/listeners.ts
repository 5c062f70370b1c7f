import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type SecureServerOptions,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { KeyPair } from '@tidegate/kube/certificates';
import type { Listening } from '../driver.ts';
import { CLIENT_HEADERS_MS, CLIENT_IDLE_MS, MAX_HEAD_BYTES, MAX_HEADERS } from '../limits.ts';
import { answer, rawAnswer } from './answer.ts';
import { type Arrival, type ClientRequest, type ClientResponse, Exchange } from './exchange.ts';
import { type HandshakeOptions, Handshakes } from './handshakes.ts';
import { ProxiedConnections } from './proxy-protocol.ts';

/** How much a client of HTTP/2 may send before it waits for an acknowledgement. */
const WINDOW_BYTES = 1024 * 1024;

/** The only protocol to switch to: over another one, a client could send requests that bypass the routes. */
const WEBSOCKET = /^websocket$/i;

export interface ListenerOptions extends HandshakeOptions {
  address: string;
  httpPort: number;
  httpsPort: number;
  /** Every connection begins with a header of the PROXY protocol. */
  proxyProtocol?: boolean;
  defaultCertificate: KeyPair;
  handle: (exchange: Exchange) => void;
}

/** Statuses for error codes of the HTTP parser of Node.js, where it is not 400. */
const PARSER_STATUSES: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_INVALID_VERSION: 505,
};

/** The client continues although it has asked to close the connection. Node.js closes it after the response. */
const AFTER_LAST = 'HPE_CLOSED_CONNECTION';

/** The HTTP and HTTPS ports, with all their connections. */
export class Listeners {
  readonly #options: ListenerOptions;
  readonly #http: Server;
  readonly #https: Http2SecureServer;
  readonly #handshakes: Handshakes;
  readonly #proxied: ProxiedConnections | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<Http2Session>();
  /** Requests in progress. */
  readonly #open = new Set<Exchange>();
  /** The request in progress on a connection of HTTP/1.1. */
  readonly #current = new WeakMap<Socket, Exchange>();
  #draining = false;
  /** Called when the last request has ended while the listeners drain. */
  #onIdle: (() => void) | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    // Node.js would answer a request without a Host header itself, with another text: `refusal.ts` does it.
    this.#http = createServer({ maxHeaderSize: MAX_HEAD_BYTES, requireHostHeader: false });
    this.#handshakes = new Handshakes(options.defaultCertificate, options);
    const secure: SecureServerOptions & Pick<ServerOptions, 'maxHeaderSize' | 'requireHostHeader'> = {
      allowHTTP1: true,
      settings: { initialWindowSize: WINDOW_BYTES },
      SNICallback: (name, done) => done(null, options.contextFor(name) ?? this.#handshakes.default),
      maxHeaderSize: MAX_HEAD_BYTES,
      // Node.js would reset streams with more than 128 headers. `refusal.ts` answers those with too many.
      maxHeaderListPairs: 2 * MAX_HEADERS,
      requireHostHeader: false,
    };
    this.#https = createSecureServer(secure);
    this.#serve(this.#http, false);
    this.#serve(this.#https, true);
    this.#handshakes.attach(this.#https);
    this.#proxied = options.proxyProtocol === true ? new ProxiedConnections() : undefined;
    this.#proxied?.attach(this.#http);
    this.#proxied?.attach(this.#https);
    this.#https.on('session', (session: Http2Session) => {
      session.setLocalWindowSize(WINDOW_BYTES);
      session.setTimeout(CLIENT_IDLE_MS, () => session.close());
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
  }

  async listen(): Promise<Listening> {
    const { address, httpPort, httpsPort } = this.#options;
    try {
      await listen(this.#http, httpPort, address);
      await listen(this.#https, httpsPort, address);
    } catch (error) {
      await this.close();
      throw error;
    }
    return { http: portOf(this.#http), https: portOf(this.#https) };
  }

  /** Sets the certificate for clients that send no known server name. Throws if it cannot be read. */
  setDefault(certificate: KeyPair): void {
    this.#handshakes.setDefault(certificate);
  }

  /** Accepts no new connections; resolves after the last request, or after `ms`. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#http.close();
    this.#https.close();
    this.#http.closeIdleConnections();
    for (const session of this.#sessions) session.close();
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async close(): Promise<void> {
    const closed = [this.#http, this.#https].map(
      (server) =>
        new Promise<void>((resolve) => (server.listening ? server.close(() => resolve()) : resolve())),
    );
    this.#proxied?.close();
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #serve(server: Server | Http2SecureServer, secure: boolean): void {
    const limits = server as Pick<
      Server,
      'keepAliveTimeout' | 'headersTimeout' | 'requestTimeout' | 'maxHeadersCount'
    >;
    limits.keepAliveTimeout = CLIENT_IDLE_MS;
    limits.headersTimeout = CLIENT_HEADERS_MS;
    // There is no limit for a whole body; RequestBody limits the pauses within it.
    limits.requestTimeout = 0;
    // Node.js would discard further headers, but `refusal.ts` must see that there are too many.
    limits.maxHeadersCount = MAX_HEADERS + 1;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    let port = 0;
    server.once('listening', () => {
      port = portOf(server);
    });
    const take = (request: ClientRequest, response: ClientResponse, awaitsContinue = false): void => {
      if ('stream' in request) stopWhenAnswered(request);
      const exchange = new Exchange(request, response, this.#arrival(request, secure, port));
      exchange.awaitsContinue = awaitsContinue;
      this.#take(exchange);
    };
    server.on('request', (request: ClientRequest, response: ClientResponse) => take(request, response));
    // Node.js would ask for every body, also for one that is too large.
    server.on('checkContinue', (request: ClientRequest, response: ClientResponse) =>
      take(request, response, true),
    );
    // Node.js would answer with 417. nginx ignores expectations that it does not know.
    server.on('checkExpectation', (request: ClientRequest, response: ClientResponse) =>
      take(request, response),
    );
    // Without this listener Node.js closes the connection of HTTP/1.1 without a response.
    server.on('connect', (request: ClientRequest, client: Socket | Http2ServerResponse) => {
      if ('stream' in request) (client as Http2ServerResponse).writeHead(405).end();
      else client.end(rawAnswer(405));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
      this.#rejectUnreadable(error, socket as Socket),
    );
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket as Socket, { secure, port, head });
    });
  }

  /** Answers a request that Node.js cannot parse, unless its response has begun. */
  #rejectUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
    const { request, response } = this.#current.get(socket) ?? {};
    const reject = (): void => {
      if (socket.writable)
        socket.end(rawAnswer(PARSER_STATUSES[error.code ?? ''] ?? 400), () => socket.destroy());
    };
    if (error.code === AFTER_LAST && request !== undefined) return;
    if (!socket.writable) socket.destroy(error);
    // The error is in what follows the current request. That request gets its own response first.
    else if (request?.complete === true && response?.writableFinished === false)
      response.once('finish', reject);
    else if (request?.complete === false && response?.headersSent === true) socket.destroy(error);
    else reject();
  }

  #upgrade(
    request: IncomingMessage,
    socket: Socket,
    { secure, port, head }: { secure: boolean; port: number; head: Buffer },
  ): void {
    socket.on('error', () => {});
    // Node.js has detached the connection from its server. It is closed after a response other than 101.
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    const isWebSocket = WEBSOCKET.test(request.headers.upgrade ?? '');
    const upgrade = isWebSocket ? { protocol: 'websocket', head } : undefined;
    const arrival = this.#arrival(request, secure, port);
    const exchange = new Exchange(request, response, { ...arrival, upgrade });
    // Node.js parses no request body on such a connection.
    if (exchange.hasBody) answer(exchange, 400);
    else this.#take(exchange);
  }

  #arrival({ socket }: ClientRequest, secure: boolean, port: number): Arrival {
    return { peer: socket?.remoteAddress ?? '', proxied: this.#proxied?.addressOf(socket), secure, port };
  }

  /** Tracks the request until its response is closed, and hands it to the handler. */
  #take(exchange: Exchange): void {
    const { request, response } = exchange;
    this.#open.add(exchange);
    if (!('stream' in request)) this.#current.set(request.socket, exchange);
    if (this.#draining && !('stream' in response)) response.shouldKeepAlive = false;
    response.once('close', () => {
      this.#open.delete(exchange);
      if (this.#open.size === 0) this.#onIdle?.();
    });
    this.#options.handle(exchange);
  }
}

/** After the response, the client need not send the rest of its request. For HTTP/1.1 Node.js takes care of that. */
function stopWhenAnswered(request: Http2ServerRequest): void {
  const stop = (): void => {
    if (!request.complete) request.stream.close(constants.NGHTTP2_NO_ERROR);
  };
  // Trailers are sent last. The reset must wait until they are sent, or it would overtake them.
  request.stream.once('wantTrailers', () => setImmediate(stop));
}

const portOf = (server: Server | Http2SecureServer): number =>
  (server.address() as AddressInfo | null)?.port ?? 0;

function listen(server: Server | Http2SecureServer, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
