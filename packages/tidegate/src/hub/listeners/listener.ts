import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, ConfigError } from '@tidegate/kube';
import type { Entrance } from '../identity/index.ts';

/** The listener that a request came through. `name` is for tests. */
export interface NamedEntrance extends Entrance {
  readonly name: 'http' | 'https' | 'socket';
}

export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  entrance: NamedEntrance,
) => void;
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  entrance: NamedEntrance,
) => void;

/** How long open requests may continue after the hub starts to shut down. */
const GRACE_MS = 5_000;
/**
 * Longer than clients keep idle connections, so that the client closes a connection, not the hub. If the hub
 * closed it at the moment a client reuses it, the request would fail.
 */
const KEEP_ALIVE_MS = 150_000;

/** A server, its connections, and its shutdown. */
export class Listener {
  readonly #server: Server;
  readonly #clock: Clock;
  /** All connections. The server itself does not track connections that were upgraded to another protocol. */
  readonly #connections = new Set<Socket>();
  #closing = false;

  /** `onConnection` is called for each connection. */
  constructor(server: Server, clock: Clock, onConnection: (socket: Socket) => void) {
    this.#server = server;
    this.#clock = clock;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.on('connection', (socket: Socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      onConnection(socket);
    });
    server.on('request', (_, response: ServerResponse) => {
      // Without this, a client that sends requests all the time would delay the shutdown until the end of the
      // grace period.
      if (this.#closing) response.setHeader('Connection', 'close');
      response.once('close', () => {
        if (this.#closing) server.closeIdleConnections();
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops accepting connections immediately. Open requests get a grace period. */
  async close(): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const cancel = this.#clock.after(GRACE_MS, () => {
      for (const socket of this.#connections) socket.destroy();
    });
    await closed;
    cancel();
  }
}

/** Resolves when the server listens. An error names the address and the flags that set it. */
export function listen(
  server: Server,
  { host, port }: { host: string; port: number },
  flags: { host: string; port: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      reject(new ConfigError(explain(error, { host, port }, flags), { cause: error }));
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

function explain(
  error: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
  flags: { host: string; port: string },
): string {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${where} is in use by another program; choose another port with ${flags.port}`;
    case 'EACCES':
      return `not permitted to listen on ${where}; choose a port above 1023 with ${flags.port}, or run as root`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this host; choose another with ${flags.host}`;
    default:
      return `cannot listen on ${where} (${flags.host}, ${flags.port}): ${error.message}`;
  }
}
