import type { Endpoint, Upstream } from '../../ingress/model.ts';
import type { Connector } from './connector.ts';
import { GrpcConnector } from './grpc-connector.ts';
import { HttpConnector } from './http-connector.ts';

/** How long an endpoint that gave no answer is left out, while others have some: at first, and when it goes on so. */
const FIRST_DOWN_MS = 1_000;
const LONGEST_DOWN_MS = 10_000;

/** An endpoint of an upstream, with what is known of it from the requests that it got. */
export class Member {
  readonly endpoint: Endpoint;
  readonly name: string;
  inFlight = 0;
  downUntil = 0;
  #downMs = 0;
  readonly #upstream: Upstream;
  /** Routes differ in how long they wait for a connection, and it is the connections that wait. */
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

  failed(now: number): void {
    // Many requests may fail for the same reason: it counts once.
    if (this.downUntil > now) return;
    this.#downMs = Math.min(this.#downMs * 2 || FIRST_DOWN_MS, LONGEST_DOWN_MS);
    this.downUntil = now + this.#downMs;
  }

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

/** A upstream as it is now, with the members that it has kept through changes. */
export class Members {
  #upstream: Upstream;
  #members: readonly Member[];
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

  /** Those that are gone finish what they have. Returns them. */
  update(upstream: Upstream): Member[] {
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

  /** Undefined when all were tried. */
  pick(tried: ReadonlySet<Member>, now: number): Member | undefined {
    const untried = tried.size === 0 ? this.#members : this.#members.filter((each) => !tried.has(each));
    // One that may be down is better than none.
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
