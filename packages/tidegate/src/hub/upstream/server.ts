import type { Duplex } from 'node:stream';
import { type Clock, type Credential, Dispatchers, type Peer } from '@tidegate/kube';
import { PROTOBUF } from '@tidegate/kube/protobuf';
import type { Dispatcher } from 'undici';

/** The state of an API server, for other parts of the hub and the admin port. */
export interface ServerState {
  readonly url: string;
  readonly healthy: boolean;
  /** The last reason why it was unhealthy; undefined if it never was. */
  readonly lastError: string | undefined;
  /** When `healthy` last changed, in milliseconds since the epoch. */
  readonly since: number;
}

/** The encoding of received data; `other` for text and tunnels. */
export type Encoding = 'json' | 'protobuf' | 'other';

export function encodingOf(contentType: string | string[] | undefined): Encoding {
  switch (String(contentType).split(';')[0]) {
    case 'application/json':
      return 'json';
    case PROTOBUF:
      return 'protobuf';
    default:
      return 'other';
  }
}

/**
 * The error of requests whose connection the hub closes. The code is that of a connection that the server
 * closed, so that clients retry.
 */
class ConnectionsBroken extends Error {
  readonly code = 'ECONNRESET';
}

/** An API server: the connections to it, and its health. */
export class UpstreamServer implements ServerState {
  readonly url: string;
  readonly origin: string;
  /** The path in front of `/api`, without a trailing slash. */
  readonly prefix: string;
  /** Called when a request to the server failed. The HealthMonitor probes the server at once. */
  onSuspicion: (error: unknown) => void = () => {};
  /** Called when data was received. */
  onReceived: (bytes: number, encoding: Encoding) => void = () => {};
  readonly #clock: Clock;
  readonly #peer: Peer;
  /**
   * Connections with the client certificate of the node. They are separate from all others, so that the
   * request of another client can never use the identity of the node.
   */
  readonly #certified: Dispatchers;
  readonly #plain: Dispatchers;
  /** Upgraded connections, which undici no longer tracks. */
  readonly #tunnels = new Set<Duplex>();
  #healthy = false;
  #lastError: string | undefined;
  #since: number;
  #receivedAt = Number.NEGATIVE_INFINITY;

  constructor(peer: Peer, clock: Clock) {
    const { origin, pathname } = new URL(peer.server);
    this.url = peer.server;
    this.origin = origin;
    this.prefix = pathname.replace(/\/+$/, '');
    this.#clock = clock;
    this.#peer = peer;
    this.#certified = new Dispatchers(peer);
    this.#plain = new Dispatchers(peer);
    this.#since = clock.now();
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  get since(): number {
    return this.#since;
  }

  /** Monotonic time at which any data was last received from the server. */
  get receivedAt(): number {
    return this.#receivedAt;
  }

  state(): ServerState {
    const { url, healthy, lastError, since } = this;
    return { url, healthy, lastError, since };
  }

  /** Sets the health. `error` is the reason if the server is unhealthy. */
  mark(healthy: boolean, error?: string): void {
    if (healthy !== this.#healthy) this.#since = this.#clock.now();
    this.#healthy = healthy;
    if (error !== undefined) this.#lastError = error;
  }

  /** Connections that all clients with this credential share. */
  connections(credential: Credential): Dispatcher {
    return (credential.cert === undefined ? this.#plain : this.#certified).for(credential);
  }

  /** Connections that no other request uses. The caller closes them. */
  newConnections(): Dispatchers {
    return new Dispatchers(this.#peer);
  }

  /** Records that data was received. */
  received(bytes: number, encoding: Encoding = 'other'): void {
    this.#receivedAt = this.#clock.monotonic();
    this.onReceived(bytes, encoding);
  }

  /** Tracks a connection that was upgraded to another protocol. */
  adopt(tunnel: Duplex): void {
    this.#tunnels.add(tunnel);
    tunnel.on('data', (chunk: Buffer) => this.received(chunk.length));
    tunnel.once('close', () => this.#tunnels.delete(tunnel));
  }

  /**
   * Closes all connections. Every request, watch and tunnel fails immediately; new requests get new
   * connections.
   */
  async breakConnections(): Promise<void> {
    for (const tunnel of this.#tunnels) tunnel.destroy();
    const why = new ConnectionsBroken(`the hub closed its connections to ${this.url}`);
    await Promise.all([this.#certified.close(why), this.#plain.close(why)]);
  }
}
