import type { Clock } from '@tidegate/kube';
import type { Endpoint } from './targets.ts';

/** The endpoint that a client used last, and when. */
interface Affinity {
  endpoint: string;
  usedAt: number;
}

/** Expired clients are removed only when there are this many. */
const SWEEP_AT = 1_000;

/** Chooses the endpoint of a connection: round robin, or the same as before with session affinity. */
export class Balancer {
  readonly #clock: Clock;
  readonly #affinities = new Map<string, Affinity>();
  #endpoints: Endpoint[] = [];
  #affinityMs: number | undefined;
  #next = 0;
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when the endpoints change. Affinities to endpoints that are gone are ignored in `candidates`. */
  update(endpoints: Endpoint[], affinityMs: number | undefined): void {
    this.#endpoints = endpoints;
    this.#affinityMs = affinityMs;
    if (affinityMs === undefined) this.#affinities.clear();
  }

  /** All endpoints, in the order in which to try them. */
  candidates(client: string): Endpoint[] {
    const count = this.#endpoints.length;
    if (count === 0) return [];
    const start = this.#next++ % count;
    const turn = [...this.#endpoints.slice(start), ...this.#endpoints.slice(0, start)];
    const affinity = this.#affinityOf(client);
    const first = turn.find((endpoint) => nameOf(endpoint) === affinity);
    return first === undefined ? turn : [first, ...turn.filter((endpoint) => endpoint !== first)];
  }

  /** Records the endpoint to which the client was connected. */
  chosen(client: string, endpoint: Endpoint): void {
    if (this.#affinityMs === undefined) return;
    this.#affinities.set(client, { endpoint: nameOf(endpoint), usedAt: this.#clock.now() });
    if (this.#affinities.size < this.#sweepAt) return;
    for (const name of this.#affinities.keys()) this.#affinityOf(name);
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#affinities.size);
  }

  #affinityOf(client: string): string | undefined {
    const affinity = this.#affinities.get(client);
    if (affinity === undefined || this.#affinityMs === undefined) return undefined;
    if (this.#clock.now() - affinity.usedAt < this.#affinityMs) return affinity.endpoint;
    this.#affinities.delete(client);
    return undefined;
  }
}

const nameOf = ({ address, port }: Endpoint): string => `${address}:${port}`;
