import { createServer, type Server, type Socket } from 'node:net';

/** A TCP server on loopback for behavior that an HTTP server does not allow. `stop` also closes its connections. */
export class TcpServer {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  /** `onConnect` decides what happens on a connection. Without it, the server never sends anything. */
  constructor(onConnect: (socket: Socket) => void = () => {}) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
      onConnect(socket);
    });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
