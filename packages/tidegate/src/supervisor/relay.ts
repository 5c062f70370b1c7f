import { createServer, connect as dial, type Server, type Socket } from 'node:net';

export interface Endpoint {
  host: string;
  port: number;
}

/**
 * Forwards a TCP port to another one, and can be cut: then it refuses new connections and resets the open ones.
 * Neither side gets a notification in its own protocol, as with a broken network.
 */
export class Relay {
  readonly listen: Endpoint;
  readonly #target: Endpoint;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(listen: Endpoint, target: Endpoint) {
    this.listen = listen;
    this.#target = target;
  }

  /** Rejects with the error of the operating system when the port is not available. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) =>
      this.#forward(client),
    );
    this.#server = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(this.listen.port, this.listen.host, () => {
          server.off('error', reject);
          resolve();
        });
      });
    } catch (error) {
      this.#server = undefined;
      throw error;
    }
  }

  /** Refuses and resets connections from now on; `open` undoes it. */
  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) =>
      server === undefined ? resolve() : server.close(() => resolve()),
    );
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  /** Connects to the target and copies both directions. The client socket is paused until the target accepts. */
  #forward(client: Socket): void {
    // The operating system accepted the connection just before the cut.
    if (this.#server === undefined) {
      client.resetAndDestroy();
      return;
    }
    const upstream = dial({ ...this.#target, allowHalfOpen: true, noDelay: true });
    this.#own(client, upstream);
    this.#own(upstream, client);
    upstream.once('connect', () => {
      // pipe() applies backpressure, and forwards the end of one direction without closing the other.
      client.pipe(upstream);
      upstream.pipe(client);
    });
  }

  /** When one socket fails, the other must fail too: a half-dead connection would leave its client waiting. */
  #own(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    socket.once('error', () => other.resetAndDestroy());
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (!socket.readableEnded || !socket.writableFinished) other.destroy();
    });
  }
}
