import { isIn, type RoutePolicy } from '../../ingress/policy/index.ts';

type Limit = NonNullable<RoutePolicy['limit']>;

interface Bucket {
  /** Requests in the bucket at this time. */
  readonly level: number;
  readonly at: number;
}

/** Clients that are remembered. Beyond it, those that sent no request for the longest time are forgotten, as by nginx. */
const MOST_BUCKETS = 100_000;

/** Limits the requests of each client. Routes of an Ingress share its limits. `limits.lua` does the same for nginx. */
export class Limiter {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  readonly #inProgress = new Map<string, number>();

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts a request. Undefined if it exceeds a limit; otherwise call the result when the request has ended. `zone` is the
   * Ingress.
   */
  begin(limit: Limit, zone: string, client: string): (() => void) | undefined {
    if (isIn(limit.exempt, client)) return NOTHING;
    const key = `${zone} ${client}`;
    const count = this.#inProgress.get(key) ?? 0;
    if (limit.connections !== undefined && count >= limit.connections) return undefined;
    if (!this.#fill(limit, key)) return undefined;
    if (limit.connections === undefined) return NOTHING;
    this.#inProgress.set(key, count + 1);
    return () => this.#end(key);
  }

  #end(key: string): void {
    const count = (this.#inProgress.get(key) ?? 0) - 1;
    if (count > 0) this.#inProgress.set(key, count);
    else this.#inProgress.delete(key);
  }

  /** False if a bucket is full. Then the request is in no bucket. */
  #fill({ requests }: Limit, key: string): boolean {
    const now = this.#now();
    const next = requests.map(({ perSecond }, index) => {
      const before = this.#buckets.get(`${index} ${key}`);
      const level =
        before === undefined ? 0 : Math.max(0, before.level - ((now - before.at) / 1000) * perSecond + 1);
      return { key: `${index} ${key}`, level };
    });
    if (next.some(({ level }, index) => level > requests[index]!.burst)) return false;
    for (const { key: each, level } of next) {
      // A key that is set again moves to the end.
      this.#buckets.delete(each);
      this.#buckets.set(each, { level, at: now });
    }
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_BUCKETS) break;
      this.#buckets.delete(oldest);
    }
    return true;
  }
}

const NOTHING = (): void => {};
