import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type Clock,
  ConfigError,
  type Credential,
  type CredentialSource,
  KubeClient,
  type Logger,
  type Metrics,
  type Random,
} from '@tidegate/kube';
import type { Dispatcher } from 'undici';
import { type Choose, chooser, type LbMode } from './choose.ts';
import { type ForwardedAnswer, type ForwardRequest, forward, type UpstreamCredential } from './forward.ts';
import { HEALTH_TIMINGS, HealthMonitor, type HealthTimings } from './health.ts';
import { Lane } from './lane.ts';
import { type ServerState, UpstreamServer } from './server.ts';
import { upgrade } from './upgrade.ts';

export interface UpstreamOptions {
  /** URLs of the API servers, for example `https://host:6443`, in order of preference. */
  servers: string[];
  mode: LbMode;
  /** The CA of the API servers, in PEM format; the CAs of the system by default. */
  ca?: string;
  tlsServerName?: string;
  insecureSkipTlsVerify?: boolean;
  nodeCredentials: CredentialSource;
  /** The User-Agent of requests of the hub itself. */
  userAgent: string;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  random?: Random;
  timings?: HealthTimings;
  /** The stored time of the last contact, in milliseconds since the epoch. */
  lastContact?: number;
  /** Called to store the time of the last contact: at most every 30 seconds, and when the link goes down. */
  onContact?: (lastContact: number) => void;
}

/** Called when an API server becomes healthy or unhealthy. `online` is whether any server is healthy. */
export type UpstreamListener = (online: boolean) => void;

const STORE_CONTACT_INTERVAL_MS = 30_000;
const NO_CREDENTIAL: Credential = {};

/** All API servers as one. A request goes to a healthy server, and fails immediately if there is none. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #servers: UpstreamServer[];
  readonly #monitors: HealthMonitor[];
  readonly #choose: Choose<UpstreamServer>;
  readonly #forwarding: Lane;
  readonly #node: KubeClient;
  readonly #listeners = new Set<UpstreamListener>();
  readonly #onFailover: (from: UpstreamServer) => void;
  #lastContact: number;
  /** The last time of contact that was passed to `onContact`. */
  #storedContact = 0;
  #closed = false;

  private constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#lastContact = options.lastContact ?? 0;
    this.#servers = options.servers.map(
      (server) => new UpstreamServer({ ...options, server }, options.clock),
    );
    const choose = chooser(this.#servers, options.mode);
    this.#choose = (tried) => (this.#closed ? undefined : choose(tried));
    this.#onFailover = this.#measure(options.metrics);
    this.#monitors = this.#servers.map((server) => this.#monitor(server));
    this.#forwarding = this.#lane();
    this.#node = this.client(options.nodeCredentials);
  }

  /** Resolves as soon as one server has answered, or when the first probes of all servers have failed. */
  static async open(options: UpstreamOptions): Promise<Upstream> {
    checkServers(options.servers);
    const upstream = new Upstream(options);
    const known = upstream.#monitors.map((monitor) => monitor.start());
    let ignore = (): void => {};
    const one = new Promise<void>((resolve) => {
      ignore = upstream.onChange((online) => online && resolve());
    });
    await Promise.race([one, Promise.all(known)]);
    ignore();
    return upstream;
  }

  /** Whether at least one API server is healthy. */
  get online(): boolean {
    return this.#servers.some((server) => server.healthy);
  }

  /**
   * The time at which data was last received from an API server, in milliseconds since the epoch; 0 if never.
   */
  get lastContact(): number {
    return this.#lastContact;
  }

  servers(): ServerState[] {
    return this.#servers.map((server) => server.state());
  }

  /**
   * Calls the listener when a server becomes healthy or unhealthy. Returns a function that removes the
   * listener.
   */
  onChange(listener: UpstreamListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The client with the credentials of the node. */
  node(): KubeClient {
    return this.#node;
  }

  /**
   * Returns a client with the given credentials. Closing it does not close the connections of other clients.
   */
  client(credentials: CredentialSource, { userAgent }: { userAgent?: string } = {}): KubeClient {
    const { clock, log } = this.#options;
    // Only used in messages. The lane chooses the server of each request.
    const config = { server: this.#servers[0]!.origin, namespace: 'default', credentials };
    const options = {
      userAgent: userAgent ?? this.#options.userAgent,
      clock,
      log,
      connections: this.#lane(),
      // Edge links have little bandwidth, and protobuf is smaller than JSON.
      protobuf: true,
    };
    return new KubeClient(config, options);
  }

  /** Forwards a client's request. Throws UpstreamUnavailable if no server answers. */
  async forward(request: ForwardRequest): Promise<ForwardedAnswer> {
    const credential = await this.#credential(request.credential);
    return forward(this.#connections(credential), credential, request);
  }

  /**
   * Forwards a client's Upgrade request, and resolves when the connection is closed. Throws
   * UpstreamUnavailable if no server answers; nothing was sent to the client in that case.
   */
  async upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    as: UpstreamCredential,
  ): Promise<void> {
    const credential = await this.#credential(as);
    await upgrade(this.#connections(credential), credential, { request, socket, head });
  }

  /** Ends all requests and closes all connections. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#storeContact();
    await Promise.all(this.#monitors.map((monitor) => monitor.close()));
    await Promise.all([this.#node.close(), this.#forwarding.close()]);
    await Promise.all(this.#servers.map((server) => server.breakConnections()));
  }

  #lane(): Lane {
    return new Lane({ choose: this.#choose, onFailover: this.#onFailover });
  }

  async #credential(as: UpstreamCredential): Promise<Credential> {
    if (as === 'none') return NO_CREDENTIAL;
    return as === 'node' ? this.#options.nodeCredentials.current() : { authorization: `Bearer ${as.token}` };
  }

  /**
   * All tokens share connections, because a token is sent with each request. Only a client certificate
   * belongs to the connection.
   */
  #connections(credential: Credential): Dispatcher {
    return this.#forwarding.for(credential.cert === undefined ? NO_CREDENTIAL : credential);
  }

  #monitor(server: UpstreamServer): HealthMonitor {
    const { nodeCredentials, userAgent, clock, log, random = Math.random, timings } = this.#options;
    return new HealthMonitor(server, {
      credentials: nodeCredentials,
      userAgent,
      clock,
      random,
      log,
      timings: timings ?? HEALTH_TIMINGS,
      onChange: () => this.#changed(),
    });
  }

  #changed(): void {
    const { online } = this;
    if (!online) this.#storeContact();
    for (const listener of this.#listeners) listener(online);
  }

  #contacted(): void {
    this.#lastContact = this.#options.clock.now();
    if (this.#lastContact - this.#storedContact >= STORE_CONTACT_INTERVAL_MS) this.#storeContact();
  }

  #storeContact(): void {
    if (this.#lastContact === this.#storedContact) return;
    this.#storedContact = this.#lastContact;
    this.#options.onContact?.(this.#lastContact);
  }

  #measure(metrics: Metrics): (from: UpstreamServer) => void {
    const labels = ['server'];
    const received = metrics.counter('tidegate_hub_upstream_received_bytes_total', {
      help: 'Bytes of responses and tunnels received from an API server, as sent over the network.',
      labels: ['server', 'encoding'],
    });
    const failovers = metrics.counter('tidegate_hub_upstream_failovers_total', {
      help: 'Requests that were retried on another API server or on a new connection after a failure of this one.',
      labels,
    });
    const healthy = metrics.gauge('tidegate_hub_upstream_healthy', {
      help: '1 if the API server is healthy, otherwise 0.',
      labels,
    });
    metrics.onScrape(() => {
      for (const server of this.#servers) healthy.set({ server: server.url }, server.healthy ? 1 : 0);
    });
    for (const server of this.#servers) {
      server.onReceived = (bytes, encoding) => {
        if (bytes > 0) received.inc({ server: server.url, encoding }, bytes);
        this.#contacted();
      };
    }
    return (from) => failovers.inc({ server: from.url });
  }
}

function checkServers(servers: string[]): void {
  if (servers.length === 0) throw new ConfigError('no API server is configured; set at least one');
  for (const server of servers) {
    if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
      throw new ConfigError(
        `${JSON.stringify(server)} is not a valid URL of an API server; use https://host:port`,
      );
    }
  }
}
