import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

/** A TCP way to a server that can break in the ways that ways break. */
export class Relay {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #silent = false;
  /** How many connections were made through it. */
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

  /** Refuses, and resets what is open. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.reset();
    await closed;
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Nothing gets through any more, and nobody is told. */
  silence({ newOnes = true } = {}): void {
    this.#silent = newOnes;
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  /** New connections get through again; those that were silenced never do. */
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
