/** The constant load: a client at every node that sends requests to the front door there. */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask } from '../support/load.ts';
import type { Excuses } from './excuses.ts';
import type { Site } from './sites.ts';

export const STORY_HOST = 'www.example.com';
const PAUSE_MS = 40;
/** A front door counts as healthy after this many good responses in a row. */
const HEALTHY_AFTER = 5;

export interface Failure {
  at: Date;
  address: string;
  pool: string;
  what: string;
}

export class Callers {
  answered = 0;
  /** Unexplained failures: missing responses, and responses from another pool. */
  readonly violations: Failure[] = [];
  readonly #excuses: Excuses;
  readonly #goodResponses = new Map<string, number>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #callers: Promise<void>[];
  #stopped = false;

  /** `portOf` returns the port of a pool's front door on each of its nodes. */
  constructor(sites: readonly Site[], portOf: (pool: string) => number, excuses: Excuses) {
    this.#excuses = excuses;
    this.#callers = sites.map((site) => this.#call(site, portOf));
  }

  /** The addresses that have not responded well recently, although they should. */
  unhealthy(): string[] {
    return [...this.#goodResponses]
      .filter(([address, times]) => times < HEALTHY_AFTER && !this.#excuses.untilMended(address))
      .map(([address]) => address);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#callers);
    this.#agent.destroy();
  }

  /** Every other request uses a connection that stays open. */
  async #call(site: Site, portOf: (pool: string) => number): Promise<void> {
    this.#goodResponses.set(site.address, 0);
    for (let i = 0; !this.#stopped; i++) {
      const { pool, address } = site;
      const started = performance.now();
      const agent = i % 2 === 0 ? this.#agent : undefined;
      try {
        const url = `http://${address}:${portOf(pool)}/`;
        const { pod, node } = await requestWithRetry(url, agent);
        this.#onAnswer(site, pool, pod, node);
      } catch (error) {
        this.#onFailure(
          { at: new Date(), address, pool, what: `${error}, ${agent ? 'kept' : 'new'} connection` },
          started,
        );
      }
      await sleep(PAUSE_MS);
    }
  }

  #onAnswer({ address, mayRespond }: Site, pool: string, pod: string, node: string): void {
    this.answered += 1;
    this.#goodResponses.set(address, (this.#goodResponses.get(address) ?? 0) + 1);
    if (mayRespond(pool, node)) return;
    this.violations.push({ at: new Date(), address, pool, what: `answered by ${pod} on ${node}` });
  }

  #onFailure(failure: Failure, started: number): void {
    this.#goodResponses.set(failure.address, 0);
    if (!this.#excuses.explain(failure.address, started, performance.now())) this.violations.push(failure);
  }
}

/**
 * A router that stops closes idle connections, possibly just when a request is sent. HTTP clients then retry over a
 * new connection, and so does this one. A partial response, or a failure on a new connection, is a failure.
 */
async function requestWithRetry(url: string, agent: Agent | undefined): Promise<Answer> {
  const headers = { host: STORY_HOST };
  try {
    return await ask(url, agent, headers);
  } catch (error) {
    const { code, reusedSocket } = error as NodeJS.ErrnoException & { reusedSocket?: boolean };
    if (code !== 'ECONNRESET' || !reusedSocket) throw error;
    return ask(url, undefined, headers);
  }
}
