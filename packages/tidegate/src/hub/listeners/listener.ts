import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, ConfigError } from '@tidegate/kube';
import type { Entrance } from '../identity/index.ts';

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

/** How long requests may go on that are open when we are told to stop. */
const GRACE_MS = 5_000;
/** Longer than clients keep connections that they do not use, so that it is never we who close one that is taken up. */
const KEEP_ALIVE_MS = 150_000;

/** One server with its connections, and how it ends. */
export class Listener {
  readonly #server: Server;
  readonly #clock: Clock;
  /** All of them: the server itself forgets those that were upgraded to something else than HTTP. */
  readonly #connections = new Set<Socket>();
  #closing = false;

  constructor(server: Server, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.on('connection', (socket: Socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    server.on('request', (_, response: ServerResponse) => {
      // Otherwise a client that always has another question would keep us until the grace is over.
      if (this.#closing) response.setHeader('Connection', 'close');
      response.once('close', () => {
        if (this.#closing) server.closeIdleConnections();
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops to accept at once; what is open gets a moment. */
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

/** Resolves when it listens. A failure names the address and the options that it comes from. */
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
      return `can not listen on ${where} (${flags.host}, ${flags.port}): ${error.message}`;
  }
}
