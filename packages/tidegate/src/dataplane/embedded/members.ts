import type { Endpoint, Upstream } from '../../ingress/model.ts';
import { ENDPOINT_BACKOFF_MS } from '../limits.ts';
import type { Connector } from './connector.ts';
import { GrpcConnector } from './grpc-connector.ts';
import { HttpConnector } from './http-connector.ts';

/** An endpoint of an upstream, with its connections and its back-off. */
export class Member {
  readonly endpoint: Endpoint;
  readonly name: string;
  /** Number of requests in progress, for least connections. */
  inFlight = 0;
  /** End of the back-off, in monotonic milliseconds. */
  downUntil = 0;
  /** Length of the current back-off. */
  #downMs = 0;
  readonly #upstream: Upstream;
  /** By connect timeout: it belongs to the connections, and routes may have different ones. */
  readonly #connectors = new Map<number, Connector>();

  constructor(endpoint: Endpoint, upstream: Upstream) {
    this.endpoint = endpoint;
    this.name = nameOf(endpoint);
    this.#upstream = upstream;
  }

  connector(connectTimeoutMs: number): Connector {
    let connector = this.#connectors.get(connectTimeoutMs);
    if (connector === undefined) {
      const Kind = this.#upstream.protocol === 'grpc' ? GrpcConnector : HttpConnector;
      connector = new Kind(this.endpoint, this.#upstream, connectTimeoutMs);
      this.#connectors.set(connectTimeoutMs, connector);
    }
    return connector;
  }

  /** Starts the back-off, or doubles it. */
  failed(now: number): void {
    // Many concurrent requests may fail for the same reason; they count as one failure.
    if (this.downUntil > now) return;
    this.#downMs = Math.min(this.#downMs * 2 || ENDPOINT_BACKOFF_MS.first, ENDPOINT_BACKOFF_MS.max);
    this.downUntil = now + this.#downMs;
  }

  /** Ends the back-off. */
  answered(): void {
    this.downUntil = 0;
    this.#downMs = 0;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connectors.values()].map((connector) => connector.close()));
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#connectors.values()].map((connector) => connector.destroy()));
  }
}

const nameOf = ({ address, port }: Endpoint): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

/** The endpoints of one upstream. An endpoint that is in the upstream before and after a change keeps its state. */
export class Members {
  #upstream: Upstream;
  #members: readonly Member[];
  /** Position of the round robin. Least connections uses it to choose among equals. */
  #next = 0;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
    this.#members = upstream.endpoints.map((endpoint) => new Member(endpoint, upstream));
  }

  get upstream(): Upstream {
    return this.#upstream;
  }

  get size(): number {
    return this.#members.length;
  }

  /** Returns the members that were removed; they may still have requests in progress. */
  update(upstream: Upstream): Member[] {
    // With another protocol, existing connections are useless.
    const kept = new Map(
      upstream.protocol === this.#upstream.protocol ? this.#members.map((each) => [each.name, each]) : [],
    );
    const before = this.#members;
    this.#members = upstream.endpoints.map(
      (endpoint) => kept.get(nameOf(endpoint)) ?? new Member(endpoint, upstream),
    );
    this.#upstream = upstream;
    const now = new Set(this.#members);
    return before.filter((each) => !now.has(each));
  }

  /** Undefined if all were tried. */
  pick(tried: ReadonlySet<Member>, now: number): Member | undefined {
    const untried = tried.size === 0 ? this.#members : this.#members.filter((each) => !tried.has(each));
    // If all endpoints are in back-off, use one of them anyway.
    const up = untried.filter((each) => each.downUntil <= now);
    const choice = up.length > 0 ? up : untried;
    if (choice.length === 0) return undefined;
    const first = this.#next++ % choice.length;
    if (this.#upstream.balance === 'roundRobin') return choice[first];
    return [...choice.slice(first), ...choice.slice(0, first)].reduce((least, each) =>
      each.inFlight < least.inFlight ? each : least,
    );
  }

  all(): readonly Member[] {
    return this.#members;
  }
}
