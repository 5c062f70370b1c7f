import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from './world.ts';

export interface Door {
  pool: string;
  /** One URL for each node of the pool. */
  urls: string[];
}

/** Ten clients send about 100 requests per second, each through three proxies. More would only take CPU time from other tests. */
const PAUSE_MS = 100;
/** A front door counts as healthy after this many good responses in a row for every client. */
const HEALTHY_AFTER = 5;
/** The errors while a killed router is restarted; there must be no wrong response. */
const CONNECTION_ERRORS = ['ECONNREFUSED', 'ECONNRESET'];
/** The errors while a node is off. */
export const NODE_ERRORS = [...CONNECTION_ERRORS, 'EHOSTUNREACH', 'ETIMEDOUT'];

/**
 * Two clients at every node of both pools send requests continuously: one over a single connection, one over new
 * connections. A request that is not answered by a pod of the pool is a failure, unless it was announced.
 */
export class Callers {
  readonly failures: string[] = [];
  readonly answered = new Map<string, number>();
  readonly #world: Pick<World, 'ask' | 'agent'>;
  readonly #clients: Promise<void>[] = [];
  readonly #goodResponses = new Map<string, number[]>();
  readonly #announced = new Map<string, readonly string[]>();
  #stopped = false;

  constructor(doors: readonly Door[], world: Pick<World, 'ask' | 'agent'>) {
    this.#world = world;
    for (const { pool, urls } of doors) {
      const counts: number[] = [];
      this.#goodResponses.set(pool, counts);
      for (const url of urls) {
        this.#clients.push(this.#call(pool, url, counts, world.agent(url)));
        this.#clients.push(this.#call(pool, url, counts, undefined));
      }
    }
  }

  /**
   * While `trouble` runs, the front door of the pool may refuse connections; afterwards all clients must succeed
   * again.
   */
  async during(
    pool: string,
    trouble: () => Promise<unknown>,
    errors: readonly string[] = CONNECTION_ERRORS,
  ): Promise<void> {
    this.#announced.set(pool, errors);
    await trouble();
    this.#goodResponses.get(pool)?.fill(0);
    while (this.#goodResponses.get(pool)?.some((count) => count < HEALTHY_AFTER)) await sleep(PAUSE_MS);
    this.#announced.delete(pool);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #call(pool: string, url: string, counts: number[], agent: Agent | undefined): Promise<void> {
    const index = counts.push(0) - 1;
    while (!this.#stopped) {
      try {
        const answer = await this.#world.ask(url, { agent });
        if (answer.pool !== pool) throw new Error(`answered by ${answer.pod} of ${answer.pool}`);
        counts[index] = (counts[index] ?? 0) + 1;
        this.answered.set(pool, (this.answered.get(pool) ?? 0) + 1);
      } catch (error) {
        counts[index] = 0;
        const { code = '' } = error as NodeJS.ErrnoException;
        if (!this.#announced.get(pool)?.includes(code))
          this.failures.push(`${new Date().toISOString()} ${url} ${agent ? 'kept' : 'new'}: ${error}`);
      }
      await sleep(PAUSE_MS);
    }
    agent?.destroy();
  }
}
