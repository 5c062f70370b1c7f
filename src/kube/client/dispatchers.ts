import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { ClusterConfig, Credential } from '../config/cluster.ts';

/** A client certificate belongs to the connection, so a new certificate needs new connections. */
export class Dispatchers {
  readonly #config: ClusterConfig;
  readonly #all = new Set<Dispatcher>();
  #current: { dispatcher: Dispatcher; cert: string | undefined; key: string | undefined } | undefined;

  constructor(config: ClusterConfig) {
    this.#config = config;
  }

  for({ cert, key }: Credential): Dispatcher {
    if (this.#current === undefined || this.#current.cert !== cert || this.#current.key !== key) {
      if (this.#current !== undefined) this.#retire(this.#current.dispatcher);
      this.#current = { dispatcher: this.#create(cert, key), cert, key };
    }
    return this.#current.dispatcher;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((dispatcher) => dispatcher.destroy()));
    this.#all.clear();
    this.#current = undefined;
  }

  /** What still runs over the old certificate may end in its own time. */
  #retire(dispatcher: Dispatcher): void {
    const forget = (): boolean => this.#all.delete(dispatcher);
    dispatcher.close().then(forget, forget);
  }

  #create(cert: string | undefined, key: string | undefined): Dispatcher {
    const { ca, tlsServerName, insecureSkipTlsVerify, proxyUrl } = this.#config;
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
        ? new Agent(options)
        : new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect });
    this.#all.add(dispatcher);
    return dispatcher;
  }
}
