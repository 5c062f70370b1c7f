import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { pipeline, Transform, type TransformCallback } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** `silent` means that connections are neither refused nor answered, as with a firewall that drops packets. */
export type LinkState = 'open' | 'slow' | 'silent' | 'cut';

/** The delay of each chunk on a slow link. */
const SLOW_MS = 150;

/** A connection. A forgotten one passes nothing any more, although new connections work. */
interface Connection {
  sockets: Socket[];
  forgotten: boolean;
}

/** The link between a node and the API server. */
export class Link {
  readonly port: number;
  readonly #target: number;
  readonly #connections = new Set<Connection>();
  #server: Server | undefined;
  /** Chunks that wait for a change of the state. */
  #waiting: (() => void)[] = [];
  state: LinkState = 'cut';

  constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
  }

  /** With `forgetting`, existing connections stay silent forever, as when a NAT gateway has lost its state. */
  async set(state: LinkState, forgetting = false): Promise<void> {
    this.state = state;
    if (state === 'cut') await this.#close();
    else await this.#listen();
    if (forgetting) for (const connection of this.#connections) connection.forgotten = true;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#forward(client));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
  }

  async #close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const { sockets } of this.#connections) for (const socket of sockets) socket.resetAndDestroy();
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }

  #forward(client: Socket): void {
    const upstream = dial({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const connection: Connection = { sockets: [client, upstream], forgotten: false };
    this.#connections.add(connection);
    const broken = (error?: Error | null): void => {
      if (error) for (const socket of connection.sockets) socket.resetAndDestroy();
      if (connection.sockets.every(({ destroyed }) => destroyed)) this.#connections.delete(connection);
    };
    pipeline(client, this.#line(connection), upstream, broken);
    pipeline(upstream, this.#line(connection), client, broken);
  }

  /** One direction of a connection. */
  #line(connection: Connection): Transform {
    const pass = (done: TransformCallback, chunk?: Buffer): void => {
      this.#passable(connection).then(() => done(null, chunk), done);
    };
    return new Transform({
      transform: (chunk: Buffer, _, done) => pass(done, chunk),
      flush: (done) => pass(done),
    });
  }

  async #passable(connection: Connection): Promise<void> {
    if (this.state === 'slow') await sleep(SLOW_MS);
    while ((this.state === 'silent' || connection.forgotten) && this.#server !== undefined)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
