/**
 * A client that costs little: requests are complete texts, and of a response only the status and the end are read. An HTTP
 * client that takes more CPU time for a request than the server would measure itself, because both share the machine.
 */
import { connect, type TLSSocket } from 'node:tls';
import type { Credentials } from './servers.ts';

const HEADERS_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
/** `HTTP/1.1 200` */
const STATUS = { from: 9, to: 12 };

/** Connections to one server, each with at most one request at a time. */
export class RawClients {
  readonly #connections: Connection[];

  private constructor(connections: Connection[]) {
    this.#connections = connections;
  }

  static async open(url: string, credentials: Credentials, count: number): Promise<RawClients> {
    return new RawClients(
      await Promise.all(Array.from({ length: count }, () => Connection.open(url, credentials))),
    );
  }

  /** Sends `count` requests over the first connections. Resolves to the time in milliseconds. */
  async run(
    count: number,
    parallel: number,
    status: number,
    requestOf: (i: number) => string,
  ): Promise<number> {
    const started = performance.now();
    let next = 0;
    const work = async (connection: Connection): Promise<void> => {
      for (let i = next++; i < count; i = next++) await connection.send(requestOf(i), status);
    };
    await Promise.all(this.#connections.slice(0, parallel).map(work));
    return performance.now() - started;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** A request as it is sent. */
export function rawRequest(method: 'GET' | 'POST', url: string, body = ''): string {
  const { host, pathname, search } = new URL(url);
  const length = Buffer.byteLength(body);
  return `${method} ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

class Connection {
  readonly #socket: TLSSocket;
  #received: Buffer | undefined;
  #expected = 0;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#reject(error));
    socket.on('close', () => this.#reject(new Error('the server closed the connection')));
  }

  static open(url: string, credentials: Credentials): Promise<Connection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), ...credentials }, () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
      socket.once('error', reject);
      socket.setNoDelay(true);
    });
  }

  /** Resolves when the whole response has arrived; rejects if it has another status. */
  send(request: string, status: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#expected = status;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const received = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    if (!isComplete(received)) {
      this.#received = received;
      return;
    }
    this.#received = undefined;
    const status = Number(received.toString('latin1', STATUS.from, STATUS.to));
    if (status === this.#expected) this.#resolve();
    else this.#reject(new Error(`status ${status}, expected ${this.#expected}: ${received}`));
  }
}

function isComplete(response: Buffer): boolean {
  const end = response.indexOf(HEADERS_END);
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(response.toString('latin1', 0, end));
  if (length === null) return response.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  return response.length >= end + HEADERS_END.length + Number(length[1]);
}
