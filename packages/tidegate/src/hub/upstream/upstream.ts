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
  /** `https://host:port`, the best first. */
  servers: string[];
  mode: LbMode;
  /** PEM; the system's roots when absent. */
  ca?: string;
  tlsServerName?: string;
  insecureSkipTlsVerify?: boolean;
  nodeCredentials: CredentialSource;
  /** Of the hub's own requests. */
  userAgent: string;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  random?: Random;
  timings?: HealthTimings;
  /** When an API server was heard last, as far as it was kept; milliseconds since the epoch. */
  lastContact?: number;
  /** Keeps it: now and then, and when the link is lost. */
  onContact?: (lastContact: number) => void;
}

/** Told when a server came or went. */
export type UpstreamListener = (online: boolean) => void;

const KEEP_CONTACT_EVERY_MS = 30_000;
const NOBODY: Credential = {};

/** The API servers, as one: whoever asks gets an answer of one that is there, or hears at once that none is. */
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
  #keptContact = 0;
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

  /** Resolves as soon as one server has answered, or when it is known that none does. */
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

  get online(): boolean {
    return this.#servers.some((server) => server.healthy);
  }

  /** When an API server was heard last; milliseconds since the epoch, 0 for never. */
  get lastContact(): number {
    return this.#lastContact;
  }

  servers(): ServerState[] {
    return this.#servers.map((server) => server.state());
  }

  /** Returns how to stop listening. */
  onChange(listener: UpstreamListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The node's own. */
  node(): KubeClient {
    return this.#node;
  }

  /** A client of the servers for anybody. Closing it leaves the connections to the others. */
  client(credentials: CredentialSource, { userAgent }: { userAgent?: string } = {}): KubeClient {
    const { clock, log } = this.#options;
    // Only messages show it: where a request goes is decided by the lane.
    const config = { server: this.#servers[0]!.origin, namespace: 'default', credentials };
    const options = {
      userAgent: userAgent ?? this.#options.userAgent,
      clock,
      log,
      connections: this.#lane(),
      // Links are thin where hubs are.
      protobuf: true,
    };
    return new KubeClient(config, options);
  }

  /** Passes a client's request on. Throws UpstreamUnavailable when no server answers. */
  async forward(request: ForwardRequest): Promise<ForwardedAnswer> {
    const credential = await this.#credential(request.credential);
    return forward(this.#connections(credential), credential, request);
  }

  /**
   * Passes a client's Upgrade on, with all that follows; resolves when it is over. Throws UpstreamUnavailable when no
   * server answers; nothing was said to the client then.
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

  /** Ends whatever goes over it. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#keepContact();
    await Promise.all(this.#monitors.map((monitor) => monitor.close()));
    await Promise.all([this.#node.close(), this.#forwarding.close()]);
    await Promise.all(this.#servers.map((server) => server.breakConnections()));
  }

  #lane(): Lane {
    return new Lane({ choose: this.#choose, onFailover: this.#onFailover });
  }

  async #credential(as: UpstreamCredential): Promise<Credential> {
    if (as === 'none') return NOBODY;
    return as === 'node' ? this.#options.nodeCredentials.current() : { authorization: `Bearer ${as.token}` };
  }

  /** A token is said with every request; only certificates belong to connections. */
  #connections(credential: Credential): Dispatcher {
    return this.#forwarding.for(credential.cert === undefined ? NOBODY : credential);
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
    if (!online) this.#keepContact();
    for (const listener of this.#listeners) listener(online);
  }

  #heard(): void {
    this.#lastContact = this.#options.clock.now();
    if (this.#lastContact - this.#keptContact >= KEEP_CONTACT_EVERY_MS) this.#keepContact();
  }

  #keepContact(): void {
    if (this.#lastContact === this.#keptContact) return;
    this.#keptContact = this.#lastContact;
    this.#options.onContact?.(this.#lastContact);
  }

  #measure(metrics: Metrics): (from: UpstreamServer) => void {
    const labels = ['server'];
    const received = metrics.counter('tidegate_hub_upstream_received_bytes_total', {
      help: 'Bytes of answers and tunnels that came from an API server, as they were on the wire.',
      labels: ['server', 'encoding'],
    });
    const failovers = metrics.counter('tidegate_hub_upstream_failovers_total', {
      help: 'Requests that went on to another API server, or a new connection, after this one failed them.',
      labels,
    });
    const healthy = metrics.gauge('tidegate_hub_upstream_healthy', {
      help: '1 while the API server answers.',
      labels,
    });
    metrics.onScrape(() => {
      for (const server of this.#servers) healthy.set({ server: server.url }, server.healthy ? 1 : 0);
    });
    for (const server of this.#servers) {
      server.onHeard = (bytes, encoding) => {
        if (bytes > 0) received.inc({ server: server.url, encoding }, bytes);
        this.#heard();
      };
    }
    return (from) => failovers.inc({ server: from.url });
  }
}

function checkServers(servers: string[]): void {
  if (servers.length === 0) throw new ConfigError('no API server is named: at least one is needed');
  for (const server of servers) {
    if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
      throw new ConfigError(
        `${JSON.stringify(server)} is not the URL of an API server; write https://host:port`,
      );
    }
  }
}
