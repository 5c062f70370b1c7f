import type { ClientPair, Endpoint, Upstream } from '../../ingress/model.ts';
import { endpointKey, fromRing, type Ring, ringOf } from '../../ingress/policy/index.ts';
import { ENDPOINT_BACKOFF_MS, EWMA_DECAY_MS } from '../limits.ts';
import type { Connector } from './connector.ts';
import { GrpcConnector } from './grpc-connector.ts';
import { HttpConnector } from './http-connector.ts';

/** The certificate for endpoints with this ID. */
export type PairOf = (credentials: string | undefined) => ClientPair | undefined;

/** An endpoint of an upstream, with its connections and its back-off. */
export class Member {
  readonly endpoint: Endpoint;
  readonly name: string;
  /** Number of requests in progress, for least connections. */
  inFlight = 0;
  /** End of the back-off, in monotonic milliseconds. */
  downUntil = 0;
  #time = 0;
  #timedAt = 0;
  /** Length of the current back-off. */
  #downMs = 0;
  readonly #upstream: Upstream;
  /** By connect timeout and size of heads: they belong to the connections, and routes may have different ones. */
  readonly #connectors = new Map<number, Connector>();

  readonly #pairOf: PairOf;

  constructor(endpoint: Endpoint, upstream: Upstream, pairOf: PairOf) {
    this.endpoint = endpoint;
    this.name = nameOf(endpoint);
    this.#upstream = upstream;
    this.#pairOf = pairOf;
  }

  connector(connectTimeoutMs: number, largeHead = false): Connector {
    const key = largeHead ? -connectTimeoutMs : connectTimeoutMs;
    let connector = this.#connectors.get(key);
    if (connector === undefined) {
      const Kind = this.#upstream.protocol === 'grpc' ? GrpcConnector : HttpConnector;
      const pair = this.#pairOf(this.#upstream.tls?.credentials);
      connector = new Kind(this.endpoint, this.#upstream, { connectTimeoutMs, largeHead, pair });
      this.#connectors.set(key, connector);
    }
    return connector;
  }

  /** How long answers took of late, in milliseconds. Older times lose weight. */
  timeAt(now: number): number {
    return this.#time * Math.exp(-(now - this.#timedAt) / EWMA_DECAY_MS);
  }

  /** Notes how long an answer took. */
  took(ms: number, now: number): void {
    const weight = this.#timedAt === 0 ? 0 : Math.exp(-(now - this.#timedAt) / EWMA_DECAY_MS);
    this.#time = this.#time * weight + ms * (1 - weight);
    this.#timedAt = now;
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

  /** Further requests use new connections, with the certificate that the upstream has now. */
  async renew(): Promise<void> {
    const before = [...this.#connectors.values()];
    this.#connectors.clear();
    await Promise.all(before.map((connector) => connector.close()));
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

export interface HashedPick {
  readonly subset?: number | undefined;
  readonly tried: ReadonlySet<Member>;
  readonly now: number;
  readonly random: () => number;
}

/** The endpoints of one upstream. An endpoint that is in the upstream before and after a change keeps its state. */
export class Members {
  #upstream: Upstream;
  #members: readonly Member[];
  /** Position of the round robin. Least connections uses it to choose among equals. */
  #next = 0;
  /** Created when it is needed. */
  #byKey: ReadonlyMap<string, Member> | undefined;
  #ring: Ring<Member> | undefined;
  readonly #pairOf: PairOf;

  constructor(upstream: Upstream, pairOf: PairOf = () => undefined) {
    this.#upstream = upstream;
    this.#pairOf = pairOf;
    this.#members = upstream.endpoints.map((endpoint) => new Member(endpoint, upstream, pairOf));
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
      (endpoint) => kept.get(nameOf(endpoint)) ?? new Member(endpoint, upstream, this.#pairOf),
    );
    this.#upstream = upstream;
    this.#byKey = undefined;
    this.#ring = undefined;
    const now = new Set(this.#members);
    return before.filter((each) => !now.has(each));
  }

  /** The endpoint with this key, see `endpointKey`. */
  withKey(key: string): Member | undefined {
    if (this.#byKey === undefined) {
      const { namespace, service } = this.#upstream;
      const label = `${namespace}/${service}`;
      this.#byKey = new Map(this.#members.map((each) => [endpointKey(label, each.name), each]));
    }
    return this.#byKey.get(key);
  }

  /** The endpoint for a hash, or a random one of `subset`. Undefined if all were tried. */
  pickByHash(hash: number, { subset = 1, tried, now, random }: HashedPick): Member | undefined {
    this.#ring ??= ringOf(this.#members);
    const choices: ((member: Member) => boolean)[] = [
      (member) => !tried.has(member) && member.downUntil <= now,
      (member) => !tried.has(member),
    ];
    for (const isUsable of choices) {
      const usable: Member[] = [];
      let count = 0;
      for (const member of fromRing(this.#ring, hash)) {
        count++;
        if (isUsable(member)) usable.push(member);
        if (count >= subset && usable.length > 0) break;
      }
      if (usable.length > 0) return usable[Math.floor(random() * usable.length)];
    }
    return undefined;
  }

  /** Undefined if all were tried. */
  pick(tried: ReadonlySet<Member>, now: number): Member | undefined {
    const untried = tried.size === 0 ? this.#members : this.#members.filter((each) => !tried.has(each));
    // If all endpoints are in back-off, use one of them anyway.
    const up = untried.filter((each) => each.downUntil <= now);
    const choice = up.length > 0 ? up : untried;
    if (choice.length === 0) return undefined;
    if (this.#upstream.balance === 'ewma') return fasterOf(choice, now);
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

/** Of two random endpoints, the faster one. */
function fasterOf(choice: readonly Member[], now: number): Member | undefined {
  const first = Math.floor(Math.random() * choice.length);
  const second = (first + 1 + Math.floor(Math.random() * (choice.length - 1))) % choice.length;
  const [a, b] = [choice[first]!, choice[second]!];
  return b.timeAt(now) < a.timeAt(now) ? b : a;
}
