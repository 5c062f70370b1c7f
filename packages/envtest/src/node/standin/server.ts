import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { answerTo } from './answer.ts';
import type { StandInConfig } from './config.ts';
import { echoWebSocket } from './websocket.ts';

/** Options of the server that answers in place of a container. */
export interface StandInOptions {
  config: StandInConfig;
  /** Receives one line per request. */
  log: (line: string) => void;
  /** Called when a port cannot be opened. The server does not retry. */
  onPortError: (error: NodeJS.ErrnoException, port: number) => void;
}

/** Longer than any client keeps an idle connection, so that only clients close connections and no request is lost. */
const KEEP_ALIVE_MS = 300_000;

/** Responds to every HTTP request on every port of its configuration. */
export class StandInServer {
  readonly #options: StandInOptions;
  readonly #listeners = new Map<number, Server>();
  readonly #webSockets = new Set<Socket>();
  #config: StandInConfig;
  #draining = false;

  constructor(options: StandInOptions) {
    this.#options = options;
    this.#config = options.config;
    this.configure(options.config);
  }

  get ports(): number[] {
    return [...this.#listeners.keys()];
  }

  /** Opens and closes listeners until the ports match `config`. Ports that stay are not interrupted. */
  configure(config: StandInConfig): void {
    const moved = config.address !== this.#config.address;
    this.#config = config;
    for (const [port, server] of this.#listeners) {
      if (!moved && config.ports.includes(port)) continue;
      this.#listeners.delete(port);
      server.close();
      server.closeIdleConnections();
    }
    for (const port of config.ports) if (!this.#listeners.has(port)) this.#listen(port);
  }

  /** From now on, every response asks the client to close the connection. */
  drain(): void {
    this.#draining = true;
  }

  /** Accepts no new connections; resolves when all open requests are finished. */
  async close(): Promise<void> {
    this.#draining = true;
    for (const socket of this.#webSockets) socket.destroy();
    const closing = [...this.#listeners.values()].map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    this.#listeners.clear();
    await Promise.all(closing);
  }

  #listen(port: number): void {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) =>
      this.#answer(request, response),
    );
    server.on('upgrade', (request: IncomingMessage, socket: Socket) => this.#upgrade(request, socket));
    server.on('error', (error: NodeJS.ErrnoException) => this.#options.onPortError(error, port));
    server.listen(port, this.#config.address);
    this.#listeners.set(port, server);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const body = answerTo(request, this.#config);
    if (this.#draining) response.setHeader('connection', 'close');
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
    // An unread body would block the next request on the connection.
    request.resume();
    this.#log(request, 200);
  }

  #upgrade(request: IncomingMessage, socket: Socket): void {
    this.#webSockets.add(socket);
    socket.on('close', () => this.#webSockets.delete(socket));
    // The client disconnected.
    socket.on('error', () => socket.destroy());
    this.#log(request, echoWebSocket(request, socket) ? 101 : 400);
  }

  #log({ method, url }: IncomingMessage, status: number): void {
    this.#options.log(`${new Date().toISOString()} ${method} ${url} ${status}\n`);
  }
}
