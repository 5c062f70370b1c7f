import type { Duplex } from 'node:stream';
import { type Clock, type Credential, Dispatchers, type Peer } from '@tidegate/kube';
import { PROTOBUF } from '@tidegate/kube/protobuf';
import type { Dispatcher } from 'undici';

/** What the rest of the hub may know of an API server. */
export interface ServerState {
  readonly url: string;
  readonly healthy: boolean;
  /** Why it is not healthy, or was not the last time. */
  readonly lastError: string | undefined;
  /** When it became what it is; milliseconds since the epoch. */
  readonly since: number;
}

/** How what arrived is written; `other` for text and for tunnels. */
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

/** To whoever waited it is as if the other side had broken the connection: they may try again. */
class ConnectionsBroken extends Error {
  readonly code = 'ECONNRESET';
}

/** One API server: the connections to it, and what is known of its health. */
export class UpstreamServer implements ServerState {
  readonly url: string;
  readonly origin: string;
  /** What stands in front of `/api`, without a slash at the end. */
  readonly prefix: string;
  /** Something went wrong on a connection to it: whoever watches over its health looks at once. */
  onSuspicion: (error: unknown) => void = () => {};
  /** Something of an answer arrived. */
  onHeard: (bytes: number, encoding: Encoding) => void = () => {};
  readonly #clock: Clock;
  readonly #peer: Peer;
  /** The node's certificate must never end up under somebody else's request: it has connections of its own. */
  readonly #certified: Dispatchers;
  readonly #plain: Dispatchers;
  readonly #tunnels = new Set<Duplex>();
  #healthy = false;
  #lastError: string | undefined;
  #since: number;
  #heardAt = Number.NEGATIVE_INFINITY;

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

  /** When something of an answer arrived the last time; monotonic. */
  get heardAt(): number {
    return this.#heardAt;
  }

  state(): ServerState {
    const { url, healthy, lastError, since } = this;
    return { url, healthy, lastError, since };
  }

  mark(healthy: boolean, error?: string): void {
    if (healthy !== this.#healthy) this.#since = this.#clock.now();
    this.#healthy = healthy;
    if (error !== undefined) this.#lastError = error;
  }

  /** Connections that others go over too. */
  connections(credential: Credential): Dispatcher {
    return (credential.cert === undefined ? this.#plain : this.#certified).for(credential);
  }

  /** Connections that nobody has used yet. The caller closes them. */
  newConnections(): Dispatchers {
    return new Dispatchers(this.#peer);
  }

  heard(bytes: number, encoding: Encoding = 'other'): void {
    this.#heardAt = this.#clock.monotonic();
    this.onHeard(bytes, encoding);
  }

  /** A connection that has become something else than HTTP, and belongs to no pool any more. */
  adopt(tunnel: Duplex): void {
    this.#tunnels.add(tunnel);
    tunnel.on('data', (chunk: Buffer) => this.heard(chunk.length));
    tunnel.once('close', () => this.#tunnels.delete(tunnel));
  }

  /** Every request, watch and tunnel over the present connections fails now; new ones get new connections. */
  async breakConnections(): Promise<void> {
    for (const tunnel of this.#tunnels) tunnel.destroy();
    const why = new ConnectionsBroken(`the connections to ${this.url} were given up`);
    await Promise.all([this.#certified.close(why), this.#plain.close(why)]);
  }
}
