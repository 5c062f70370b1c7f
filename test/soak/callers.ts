/** The constant load: somebody at every node who asks the front door there, all the time. */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask } from '../support/load.ts';
import type { Excuses } from './excuses.ts';
import type { Site } from './sites.ts';

export const STORY_HOST = 'www.example.com';
const PAUSE_MS = 40;
/** So many good answers in a row, and a front door is taken to be well. */
const WELL = 5;

export interface Failure {
  at: Date;
  address: string;
  pool: string;
  what: string;
}

export class Callers {
  answered = 0;
  /** What nothing explains: answers that did not come, and answers from elsewhere. */
  readonly violations: Failure[] = [];
  readonly #excuses: Excuses;
  readonly #wells = new Map<string, number>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #callers: Promise<void>[];
  #stopped = false;

  /** `portOf`: where the front door of a pool is on each of its nodes. */
  constructor(sites: readonly Site[], portOf: (pool: string) => number, excuses: Excuses) {
    this.#excuses = excuses;
    this.#callers = sites.map((site) => this.#call(site, portOf));
  }

  /** Where it has not answered well of late, though it should. */
  unwell(): string[] {
    return [...this.#wells]
      .filter(([address, times]) => times < WELL && !this.#excuses.untilMended(address))
      .map(([address]) => address);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#callers);
    this.#agent.destroy();
  }

  /** Every other request over a connection that stays open. */
  async #call(site: Site, portOf: (pool: string) => number): Promise<void> {
    this.#wells.set(site.address, 0);
    for (let i = 0; !this.#stopped; i++) {
      const { pool, address } = site;
      const started = performance.now();
      const agent = i % 2 === 0 ? this.#agent : undefined;
      try {
        const url = `http://${address}:${portOf(pool)}/`;
        const { pod, node } = await askAsClientsDo(url, agent);
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

  #onAnswer({ address, mayHear }: Site, pool: string, pod: string, node: string): void {
    this.answered += 1;
    this.#wells.set(address, (this.#wells.get(address) ?? 0) + 1);
    if (mayHear(pool, node)) return;
    this.violations.push({ at: new Date(), address, pool, what: `answered by ${pod} on ${node}` });
  }

  #onFailure(failure: Failure, started: number): void {
    this.#wells.set(failure.address, 0);
    if (!this.#excuses.explain(failure.address, started, performance.now())) this.violations.push(failure);
  }
}

/**
 * A router that goes closes the connections that nothing goes over, maybe just when a request sets out: HTTP clients ask
 * again then, over another one. What was answered in part, or over a new connection not at all, is a failure.
 */
async function askAsClientsDo(url: string, agent: Agent | undefined): Promise<Answer> {
  const headers = { host: STORY_HOST };
  try {
    return await ask(url, agent, headers);
  } catch (error) {
    const { code, reusedSocket } = error as NodeJS.ErrnoException & { reusedSocket?: boolean };
    if (code !== 'ECONNRESET' || !reusedSocket) throw error;
    return ask(url, undefined, headers);
  }
}
