import type { Dispatcher } from 'undici';
import type { ClusterConfig, Credential } from '../config/cluster.ts';
import { Pool, ProxyAgent } from './undici.ts';

/** What requests go over. */
export interface Connections {
  for(credential: Credential): Dispatcher;
  /** Ends what goes over them on behalf of their user. */
  close(): Promise<void>;
}

/** How to reach one server, whoever one is. */
export type Peer = Pick<
  ClusterConfig,
  'server' | 'ca' | 'tlsServerName' | 'insecureSkipTlsVerify' | 'proxyUrl'
>;

/** A client certificate belongs to the connection, so a new certificate needs new connections. */
export class Dispatchers implements Connections {
  readonly #peer: Peer;
  readonly #all = new Set<Dispatcher>();
  #current: { dispatcher: Dispatcher; cert: string | undefined; key: string | undefined } | undefined;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  for({ cert, key }: Credential): Dispatcher {
    if (this.#current === undefined || this.#current.cert !== cert || this.#current.key !== key) {
      if (this.#current !== undefined) this.#retire(this.#current.dispatcher);
      this.#current = { dispatcher: this.#create(cert, key), cert, key };
    }
    return this.#current.dispatcher;
  }

  /** Breaks every connection, for what goes over it with this error. Whoever asks for one afterwards gets a new one. */
  async close(why: Error | null = null): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    this.#current = undefined;
    await Promise.all(all.map((dispatcher) => dispatcher.destroy(why)));
  }

  /** What still runs over the old certificate may end in its own time. */
  #retire(dispatcher: Dispatcher): void {
    const forget = (): boolean => this.#all.delete(dispatcher);
    dispatcher.close().then(forget, forget);
  }

  #create(cert: string | undefined, key: string | undefined): Dispatcher {
    const { server, ca, tlsServerName, insecureSkipTlsVerify, proxyUrl } = this.#peer;
    const connect = {
      ca,
      cert,
      key,
      servername: tlsServerName,
      rejectUnauthorized: insecureSkipTlsVerify !== true,
      // Finds out about a peer that vanished without a word, where no request would.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    };
    // A new request may meet a connection that the server is just closing; Go's server keeps idle ones far longer.
    const options = { connect, keepAliveTimeout: 30_000, allowH2: false };
    const dispatcher =
      proxyUrl === undefined
        ? new Pool(new URL(server).origin, options)
        : new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect });
    this.#all.add(dispatcher);
    return dispatcher;
  }
}
