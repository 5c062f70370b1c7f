import { createHash } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '@tidegate/kube';
import type { RouteTable } from '../../ingress/match/index.ts';
import type { ClientPair, Delta, Endpoint, Upstream, UpstreamId } from '../../ingress/model.ts';
import { connectToEndpoint } from '../endpoint-tls.ts';

/** The file name of the socket of an endpoint. A path of a socket is limited to about a hundred bytes. */
export const relayName = ({ id }: Upstream, { address, port }: Endpoint): string =>
  createHash('sha256')
    .update(JSON.stringify([id, address, port]))
    .digest('hex')
    .slice(0, 16);

interface Relay {
  readonly endpoint: Endpoint;
  /** Its settings are a part of its ID. */
  readonly upstream: Upstream;
  server: Server | undefined;
  readonly sockets: Set<Socket>;
}

/**
 * Connects nginx to endpoints over TLS with settings of tenants: certificates, authorities, versions and ciphers. nginx has these in its
 * configuration only, which tenants must not write. So nginx connects to a unix socket for each endpoint without TLS, and bytes are
 * forwarded over TLS. If the handshake fails, the connection is closed, and nginx tries another endpoint.
 */
export class Relays {
  readonly #log: Logger;
  readonly #connectTimeoutMs: number;
  readonly #relays = new Map<string, Relay>();
  readonly #names = new Map<UpstreamId, readonly string[]>();
  /** Do not listen yet. */
  readonly #silent = new Set<string>();
  /** No upstream needs them any more. */
  readonly #leaving = new Set<string>();
  #pairOf: (credentials: string) => ClientPair | undefined = () => undefined;
  /** Of the nginx that runs. Undefined: there is none. */
  #directory: string | undefined;

  constructor(log: Logger, connectTimeoutMs: number) {
    this.#log = log;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Call it before nginx gets the table. Resolves when all endpoints of the table can be reached. */
  async update(table: RouteTable, delta: Delta): Promise<void> {
    this.#pairOf = (id) => table.credentials.get(id)?.client;
    const isFull = delta.from === 0;
    const gone = isFull
      ? [...this.#names.keys()].filter((id) => !table.upstreams.has(id))
      : delta.upstreams.remove;
    for (const id of gone) this.#remove(id);
    for (const upstream of isFull ? table.upstreams.values() : delta.upstreams.set) this.#put(upstream);
    await this.#listen();
  }

  /** Closes the sockets that no upstream needs. Call it after nginx has got the table. */
  prune(): void {
    for (const name of this.#leaving) {
      // Requests in progress continue.
      this.#relays.get(name)?.server?.close();
      this.#relays.delete(name);
      this.#silent.delete(name);
    }
    this.#leaving.clear();
  }

  /** A new nginx has another directory. */
  async moveTo(directory: string): Promise<void> {
    for (const [name, relay] of this.#relays) {
      relay.server?.close();
      this.#silent.add(name);
    }
    this.#directory = directory;
    await this.#listen();
  }

  close(): void {
    for (const { server, sockets } of this.#relays.values()) {
      server?.close();
      for (const socket of sockets) socket.destroy();
    }
    this.#relays.clear();
    this.#names.clear();
    this.#silent.clear();
  }

  #put(upstream: Upstream): void {
    this.#remove(upstream.id);
    if (upstream.tls === undefined) return;
    const names = upstream.endpoints.map((endpoint) => {
      const name = relayName(upstream, endpoint);
      this.#leaving.delete(name);
      if (!this.#relays.has(name)) {
        this.#relays.set(name, { endpoint, upstream, server: undefined, sockets: new Set() });
        this.#silent.add(name);
      }
      return name;
    });
    this.#names.set(upstream.id, names);
  }

  #remove(id: UpstreamId): void {
    for (const name of this.#names.get(id) ?? []) this.#leaving.add(name);
    this.#names.delete(id);
  }

  async #listen(): Promise<void> {
    const directory = this.#directory;
    if (directory === undefined) return;
    const silent = [...this.#silent];
    await Promise.all(
      silent.map((name) => {
        const relay = this.#relays.get(name)!;
        const path = join(directory, name);
        const server = createServer((socket) => this.#connect(relay, socket));
        relay.server = server;
        return new Promise<void>((resolve, reject) => {
          server.once('error', reject);
          server.listen(path, () => {
            // Workers may run as another user.
            chmodSync(path, 0o666);
            this.#silent.delete(name);
            resolve();
          });
        });
      }),
    );
  }

  #connect(relay: Relay, socket: Socket): void {
    const { endpoint, upstream, sockets } = relay;
    const pair = upstream.tls?.credentials === undefined ? undefined : this.#pairOf(upstream.tls.credentials);
    // nginx answers such requests itself. The Secret may have been removed just now.
    if (upstream.tls?.credentials !== undefined && pair === undefined) {
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    const timeoutMs = this.#connectTimeoutMs;
    const secure = connectToEndpoint(upstream, endpoint, { pair, timeoutMs }, (error) => {
      if (error === undefined) {
        socket.pipe(secure);
        secure.pipe(socket);
        return;
      }
      this.#log.warn(
        { endpoint: `${endpoint.address}:${endpoint.port}`, upstream: upstream.id, why: error.message },
        'the TLS handshake with an endpoint failed',
      );
      socket.destroy();
    });
    sockets.add(socket).add(secure);
    // The other side notices it.
    secure.on('error', () => {});
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      secure.destroy();
    });
    secure.once('close', (hadError) => {
      sockets.delete(secure);
      // nginx gets what has arrived before the end, and no end after an error.
      if (hadError) socket.destroy();
      else socket.end();
    });
  }
}
