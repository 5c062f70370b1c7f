import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask as askPod } from '../support/load.ts';

export interface Door {
  pool: string;
  /** On each node of the pool. */
  urls: string[];
}

const HOST = 'www.example.com';
const PAUSE_MS = 50;
/** So many good answers in a row of every caller, and a front door is taken to be well. */
const WELL = 5;
/** What is seen of a router that was killed, until another one listens: never an answer. */
const NOBODY_THERE = ['ECONNREFUSED', 'ECONNRESET'];

/**
 * At every node of both pools somebody who asks all the time over one connection, and somebody who asks over new ones.
 * A failure is what is not answered by a pod of the pool, unless it was announced.
 */
export class Callers {
  readonly failures: string[] = [];
  readonly answered = new Map<string, number>();
  readonly #clients: Promise<void>[] = [];
  readonly #inARow = new Map<string, number[]>();
  readonly #announced = new Set<string>();
  #stopped = false;

  constructor(doors: readonly Door[]) {
    for (const { pool, urls } of doors) {
      const counts: number[] = [];
      this.#inARow.set(pool, counts);
      for (const url of urls) {
        this.#clients.push(this.#call(pool, url, counts, new Agent({ keepAlive: true, maxSockets: 1 })));
        this.#clients.push(this.#call(pool, url, counts, undefined));
      }
    }
  }

  /** While this is done nobody may be there in the pool; afterwards everybody is answered again. */
  async during(pool: string, trouble: () => Promise<unknown>): Promise<void> {
    this.#announced.add(pool);
    await trouble();
    this.#inARow.get(pool)?.fill(0);
    while (this.#inARow.get(pool)?.some((count) => count < WELL)) await sleep(PAUSE_MS);
    this.#announced.delete(pool);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #call(pool: string, url: string, counts: number[], agent: Agent | undefined): Promise<void> {
    const me = counts.push(0) - 1;
    while (!this.#stopped) {
      try {
        const answer = await ask(url, { agent });
        if (answer.pool !== pool) throw new Error(`answered by ${answer.pod} of ${answer.pool}`);
        counts[me] = (counts[me] ?? 0) + 1;
        this.answered.set(pool, (this.answered.get(pool) ?? 0) + 1);
      } catch (error) {
        counts[me] = 0;
        const { code = '' } = error as NodeJS.ErrnoException;
        if (!(this.#announced.has(pool) && NOBODY_THERE.includes(code)))
          this.failures.push(`${new Date().toISOString()} ${url} ${agent ? 'kept' : 'new'}: ${error}`);
      }
      await sleep(PAUSE_MS);
    }
    agent?.destroy();
  }
}

/** One request to a front door. */
export const ask = (
  url: string,
  { agent, host = HOST }: { agent?: Agent; host?: string } = {},
): Promise<Answer> => askPod(url, agent, { host });
