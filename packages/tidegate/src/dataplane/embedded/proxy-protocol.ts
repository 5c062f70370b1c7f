import type { Server } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { CLIENT_HEADERS_MS } from '../limits.ts';
import { readProxyHeader } from './proxy-header.ts';

type End = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/**
 * Connections that begin with a header of the PROXY protocol, from their first byte to their end. The header is read from every
 * connection, so that a client that sends none, or a proxy that does not know the protocol, gets nothing at all. Whether the
 * address in the header counts is decided later.
 */
export class ProxiedConnections {
  /** The address in the header by both ends of the connection: a TLS connection is another object than the one below it. */
  readonly #addresses = new Map<string, string>();
  /** Connections whose header is not complete. */
  readonly #waiting = new Set<Socket>();

  /** Takes over the connections of a server. */
  attach(server: Server | Http2SecureServer): void {
    const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      this.#read(socket, () => {
        for (const listener of listeners) listener.call(server, socket);
      });
    });
  }

  /** Undefined if the proxy speaks for itself. */
  addressOf(socket: End | undefined): string | undefined {
    return socket && this.#addresses.get(keyOf(socket));
  }

  /** Closes the connections that no server knows yet. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }

  #read(socket: Socket, done: () => void): void {
    let received: Buffer = Buffer.alloc(0);
    this.#waiting.add(socket);
    const limit = setTimeout(() => socket.destroy(), CLIENT_HEADERS_MS);
    const forget = (): void => {
      clearTimeout(limit);
      this.#waiting.delete(socket);
      socket.off('readable', read);
      socket.off('close', forget);
      socket.off('error', ignore);
    };
    const read = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const header = readProxyHeader(received);
      if (header === 'incomplete') return;
      forget();
      if (header === 'invalid') {
        socket.destroy();
        return;
      }
      if (header.address !== undefined) this.#note(socket, header.address);
      const rest = received.subarray(header.bytes);
      if (rest.length > 0) socket.unshift(rest);
      done();
    };
    socket.on('readable', read);
    socket.on('close', forget);
    // A connection that breaks before its header is complete concerns no request.
    socket.on('error', ignore);
  }

  #note(socket: Socket, address: string): void {
    const key = keyOf(socket);
    this.#addresses.set(key, address);
    socket.once('close', () => this.#addresses.delete(key));
  }
}

const keyOf = ({ remoteAddress, remotePort, localPort }: End): string =>
  `${remoteAddress} ${remotePort} ${localPort}`;

const ignore = (): void => {};
