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
import type { SecureContext } from 'node:tls';
import type { KeyPair } from '@tidegate/kube';
import type { Listening } from '../driver.ts';
import { answer } from './answer.ts';
import { type ClientRequest, type ClientResponse, Exchange } from './exchange.ts';

/** As long as nginx keeps connections of clients that nobody uses. */
const KEEP_ALIVE_MS = 75_000;
/** How long a client may take to say what it wants. */
const HEADERS_MS = 60_000;
const MAX_HEADER_BYTES = 32 * 1024;
/** Before a client has sent that much, it need not wait for us. */
const WINDOW_BYTES = 1024 * 1024;

/** Other protocols could carry requests past the routes. */
const WEBSOCKET = /^websocket$/i;

const NO_CONNECT = 'HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

export interface ListenerOptions {
  address: string;
  httpPort: number;
  httpsPort: number;
  defaultCertificate: KeyPair;
  contextFor: (serverName: string) => SecureContext | undefined;
  handle: (exchange: Exchange) => void;
}

/** Both ports, with all connections to them. */
export class Listeners {
  readonly #options: ListenerOptions;
  readonly #http: Server;
  readonly #https: Http2SecureServer;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<Http2Session>();
  readonly #open = new Set<Exchange>();
  #draining = false;
  #onIdle: (() => void) | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#http = createServer({ maxHeaderSize: MAX_HEADER_BYTES });
    const secure: SecureServerOptions & Pick<ServerOptions, 'maxHeaderSize'> = {
      allowHTTP1: true,
      cert: options.defaultCertificate.certificate,
      key: options.defaultCertificate.key,
      settings: { initialWindowSize: WINDOW_BYTES },
      SNICallback: (name, done) => done(null, options.contextFor(name)),
      maxHeaderSize: MAX_HEADER_BYTES,
    };
    this.#https = createSecureServer(secure);
    this.#serve(this.#http, false);
    this.#serve(this.#https, true);
    this.#https.on('session', (session: Http2Session) => {
      session.setLocalWindowSize(WINDOW_BYTES);
      session.setTimeout(KEEP_ALIVE_MS, () => session.close());
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

  /** For clients that say no name. Throws when it can not be read. */
  setDefault({ certificate, key }: KeyPair): void {
    this.#https.setSecureContext({ cert: certificate, key });
  }

  /** Takes no new connections; resolves when no request is left, or after so long. */
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
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #serve(server: Server | Http2SecureServer, secure: boolean): void {
    const timeouts = server as Pick<Server, 'keepAliveTimeout' | 'headersTimeout' | 'requestTimeout'>;
    timeouts.keepAliveTimeout = KEEP_ALIVE_MS;
    timeouts.headersTimeout = HEADERS_MS;
    // A body may take as long as it moves: see RequestBody.
    timeouts.requestTimeout = 0;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    let port = 0;
    server.once('listening', () => {
      port = portOf(server);
    });
    server.on('request', (request: ClientRequest, response: ClientResponse) => {
      if ('stream' in request) stopWhenAnswered(request);
      this.#take(new Exchange(request, response, { secure, port }));
    });
    // Without it Node would hang up on HTTP/1.1; HTTP/2 has its answer.
    server.on('connect', (request: ClientRequest, client: Socket | Http2ServerResponse) => {
      if ('stream' in request) (client as Http2ServerResponse).writeHead(405).end();
      else client.end(NO_CONNECT);
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket as Socket, { secure, port, head });
    });
  }

  #upgrade(
    request: IncomingMessage,
    socket: Socket,
    { secure, port, head }: { secure: boolean; port: number; head: Buffer },
  ): void {
    socket.on('error', () => {});
    // Node's server has let go of the connection: it is closed after an answer that is no change of protocols.
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    const isWebSocket = WEBSOCKET.test(request.headers.upgrade ?? '');
    const upgrade = isWebSocket ? { protocol: 'websocket', head } : undefined;
    const exchange = new Exchange(request, response, { secure, port, upgrade });
    // Nobody reads bodies on such a connection any more.
    if (exchange.hasBody) answer(exchange, 400);
    else this.#take(exchange);
  }

  #take(exchange: Exchange): void {
    const { response } = exchange;
    this.#open.add(exchange);
    if (this.#draining && !('stream' in response)) response.shouldKeepAlive = false;
    response.once('close', () => {
      this.#open.delete(exchange);
      if (this.#open.size === 0) this.#onIdle?.();
    });
    this.#options.handle(exchange);
  }
}

/** A client that has its answer need not send the rest of its request. Over HTTP/1.1 Node sees to that. */
function stopWhenAnswered(request: Http2ServerRequest): void {
  const stop = (): void => {
    if (!request.complete) request.stream.close(constants.NGHTTP2_NO_ERROR);
  };
  // Trailers are the last that is asked for. They have to be on their way: a reset would overtake them.
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
