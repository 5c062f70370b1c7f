import { createServer, connect as dial, type Server, type Socket } from 'node:net';

export interface Endpoint {
  host: string;
  port: number;
}

/**
 * A TCP port that leads to another one, and can be cut: then it refuses, and every connection through it is reset.
 * Nobody on either side is told; to them the way is broken, as when a line is.
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

  /** Rejects with the error of the operating system when the port can not be had. */
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

  /** Refuses and resets from now on; `open` mends it. */
  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) =>
      server === undefined ? resolve() : server.close(() => resolve()),
    );
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  #forward(client: Socket): void {
    // Accepted by the operating system just before the cut.
    if (this.#server === undefined) {
      client.resetAndDestroy();
      return;
    }
    const upstream = dial({ ...this.#target, allowHalfOpen: true, noDelay: true });
    this.#own(client, upstream);
    this.#own(upstream, client);
    upstream.once('connect', () => {
      // pipe() waits for whoever is slower, and passes an end on without closing the other direction.
      client.pipe(upstream);
      upstream.pipe(client);
    });
  }

  /** A socket that breaks, breaks the other one too: a half-dead connection would hang its client. */
  #own(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    socket.once('error', () => other.resetAndDestroy());
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (!socket.readableEnded || !socket.writableFinished) other.destroy();
    });
  }
}
