import { createSecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { ClusterConfig, Credential } from '../config/cluster.ts';
import { Pool, ProxyAgent } from './undici.ts';

/** Connections for requests. */
export interface Connections {
  for(credential: Credential): Dispatcher;
  /** Aborts what these connections carry for their user. */
  close(): Promise<void>;
}

/** How to reach one server, independent of the credential. */
export type Peer = Pick<
  ClusterConfig,
  'server' | 'ca' | 'tlsServerName' | 'insecureSkipTlsVerify' | 'proxyUrl'
>;

/**
 * Connections to one server, one set for each client certificate: TLS presents the certificate when a connection is
 * opened, so a new certificate needs new connections.
 */
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

  /** Destroys all connections; requests on them fail with this error. Later requests open new connections. */
  async close(why: Error | null = null): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    this.#current = undefined;
    await Promise.all(all.map((dispatcher) => dispatcher.destroy(why)));
  }

  /** Requests on connections with the old certificate may finish. */
  #retire(dispatcher: Dispatcher): void {
    const forget = (): boolean => this.#all.delete(dispatcher);
    dispatcher.close().then(forget, forget);
  }

  #create(cert: string | undefined, key: string | undefined): Dispatcher {
    const { server, ca, tlsServerName, insecureSkipTlsVerify, proxyUrl } = this.#peer;
    const connect = {
      // Parsed once. Otherwise, every connection parses the certificates and the key again, and each watch is a connection.
      secureContext: server.startsWith('https:') ? createSecureContext({ ca, cert, key }) : undefined,
      servername: tlsServerName,
      rejectUnauthorized: insecureSkipTlsVerify !== true,
      // Keepalive probes detect a peer that vanished while no request is pending.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      // As long as client-go waits. A busy machine can take long to answer, and a request has its own deadline.
      timeout: 30_000,
    };
    // Close idle connections well before the server does (Go's keeps them far longer): otherwise a request may be
    // sent on a connection that the server is just closing.
    const options = { connect, keepAliveTimeout: 30_000, allowH2: false };
    const dispatcher =
      proxyUrl === undefined
        ? new Pool(new URL(server).origin, options)
        : new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect });
    this.#all.add(dispatcher);
    return dispatcher;
  }
}
