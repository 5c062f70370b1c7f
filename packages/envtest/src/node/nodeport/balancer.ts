import type { Clock } from '@tidegate/kube';
import type { Endpoint } from './targets.ts';

interface Stay {
  endpoint: string;
  usedAt: number;
}

/** Forgotten clients are looked for only when there are this many. */
const SWEEP_AT = 1_000;

/** Says where a connection goes: round robin, or where its client went before. */
export class Balancer {
  readonly #clock: Clock;
  readonly #stays = new Map<string, Stay>();
  #endpoints: Endpoint[] = [];
  #affinityMs: number | undefined;
  #next = 0;
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  update(endpoints: Endpoint[], affinityMs: number | undefined): void {
    this.#endpoints = endpoints;
    this.#affinityMs = affinityMs;
    if (affinityMs === undefined) this.#stays.clear();
  }

  /** Every endpoint once, in the order to try them. */
  candidates(client: string): Endpoint[] {
    const count = this.#endpoints.length;
    if (count === 0) return [];
    const start = this.#next++ % count;
    const turn = [...this.#endpoints.slice(start), ...this.#endpoints.slice(0, start)];
    const stay = this.#stayOf(client);
    const first = turn.find((endpoint) => nameOf(endpoint) === stay);
    return first === undefined ? turn : [first, ...turn.filter((endpoint) => endpoint !== first)];
  }

  /** The client was connected to this endpoint. */
  chosen(client: string, endpoint: Endpoint): void {
    if (this.#affinityMs === undefined) return;
    this.#stays.set(client, { endpoint: nameOf(endpoint), usedAt: this.#clock.now() });
    if (this.#stays.size < this.#sweepAt) return;
    for (const name of this.#stays.keys()) this.#stayOf(name);
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#stays.size);
  }

  #stayOf(client: string): string | undefined {
    const stay = this.#stays.get(client);
    if (stay === undefined || this.#affinityMs === undefined) return undefined;
    if (this.#clock.now() - stay.usedAt < this.#affinityMs) return stay.endpoint;
    this.#stays.delete(client);
    return undefined;
  }
}

const nameOf = ({ address, port }: Endpoint): string => `${address}:${port}`;
