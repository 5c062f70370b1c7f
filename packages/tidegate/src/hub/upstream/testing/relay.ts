import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

/** A TCP proxy to a server that can fail in different ways. */
export class Relay {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #silent = false;
  /** The number of connections through the proxy. */
  connections = 0;

  constructor(targetPort: number) {
    this.#target = targetPort;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) =>
      this.#relay(client),
    );
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  get port(): number {
    return this.#port;
  }

  /** Refuses new connections, and resets open ones. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.reset();
    await closed;
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Drops all data silently, on open connections and, by default, on new ones. */
  silence({ newOnes = true } = {}): void {
    this.#silent = newOnes;
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  /** New connections work again. Silenced ones do not. */
  speak(): void {
    this.#silent = false;
  }

  #relay(client: Socket): void {
    this.connections++;
    this.#own(client);
    if (this.#silent) return;
    const upstream = dial({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true });
    this.#own(upstream);
    client.pipe(upstream).pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
