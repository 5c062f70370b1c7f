import { setMaxListeners } from 'node:events';
import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failures } from '../support/failures.ts';
import type { Answer } from '../support/load.ts';

export interface Door {
  pool: string;
  /** One URL for each node of the pool. */
  urls: string[];
}

export interface Asking {
  agent?: Agent;
  host?: string;
  signal?: AbortSignal | undefined;
}

/** How a client at a site reaches a front door. */
export interface Site {
  /** Sends a request from a client at the site. Rejects unless a pod answers, and when the client gives up. */
  ask(url: string, options?: Asking): Promise<Answer>;
  /** Keeps one connection open. */
  agent(url: string): Agent;
}

/** Ten clients send about 100 requests per second, each through three proxies. More would only take CPU time from other tests. */
const PAUSE_MS = 100;
/** A front door counts as healthy after this many good responses in a row for every client. */
const HEALTHY_AFTER = 5;
/**
 * The errors while a killed router is restarted; there must be no wrong response. EPIPE is how a client learns that its
 * open connection was reset, if it writes before it reads.
 */
const CONNECTION_ERRORS = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'];
const GIVEN_UP = 'ABORT_ERR';
/** The errors while a node is off. */
export const NODE_ERRORS = [...CONNECTION_ERRORS, 'EHOSTUNREACH', 'ETIMEDOUT'];
/** The responses of a router while all pods behind it are off. */
export const NO_PODS = ['HTTP_502', 'HTTP_503', 'HTTP_504'];

/**
 * Two clients at every node of both pools send requests continuously: one over a single connection, one over new
 * connections. A request that is not answered by a pod of the pool is a failure, unless it was announced.
 */
export class Callers {
  readonly #failures = new Failures();
  readonly answered = new Map<string, number>();
  readonly #site: Site;
  readonly #clients: Promise<void>[] = [];
  readonly #goodResponses = new Map<string, number[]>();
  readonly #announced = new Map<string, readonly string[]>();
  /** Lets the clients of a pool give up. */
  readonly #patience = new Map<string, AbortController>();
  #stopped = false;

  constructor(doors: readonly Door[], site: Site) {
    this.#site = site;
    for (const { pool, urls } of doors) {
      const counts: number[] = [];
      this.#goodResponses.set(pool, counts);
      this.#patience.set(pool, newPatience());
      for (const url of urls) {
        this.#clients.push(this.#call(pool, url, counts, site.agent(url)));
        this.#clients.push(this.#call(pool, url, counts, undefined));
      }
    }
  }

  /**
   * While `trouble` runs, the front door of the pool may refuse connections; afterwards all clients must succeed
   * again. Requests that a node has swallowed are given up then, as a client with a timeout does: when a node starts, kube-proxy
   * listens on node ports a moment before it forwards them, and never answers what it has accepted.
   */
  async during(
    pool: string,
    trouble: () => Promise<unknown>,
    errors: readonly string[] = CONNECTION_ERRORS,
  ): Promise<void> {
    this.#announced.set(pool, [...errors, GIVEN_UP]);
    await trouble();
    this.#patience.get(pool)?.abort();
    this.#patience.set(pool, newPatience());
    this.#goodResponses.get(pool)?.fill(0);
    while (this.#goodResponses.get(pool)?.some((count) => count < HEALTHY_AFTER)) await sleep(PAUSE_MS);
    this.#announced.delete(pool);
  }

  /** The failures that were not announced, one line for each kind of failure. */
  get failures(): string {
    return this.#failures.toString();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #call(pool: string, url: string, counts: number[], agent: Agent | undefined): Promise<void> {
    const index = counts.push(0) - 1;
    while (!this.#stopped) {
      try {
        const { signal } = this.#patience.get(pool) ?? {};
        const answer = await this.#site.ask(url, { agent, signal });
        if (answer.pool !== pool) throw new Error(`answered by ${answer.pod} of ${answer.pool}`);
        counts[index] = (counts[index] ?? 0) + 1;
        this.answered.set(pool, (this.answered.get(pool) ?? 0) + 1);
      } catch (error) {
        counts[index] = 0;
        const { code = '' } = error as NodeJS.ErrnoException;
        const announced = this.#announced.get(pool);
        if (!announced?.includes(code))
          this.#failures.add(
            `${url} over a ${agent ? 'kept' : 'new'} connection${announced ? ', while other errors were expected' : ''}: ${error}`,
          );
      }
      await sleep(PAUSE_MS);
    }
    agent?.destroy();
  }
}

/** Every request adds a listener while it runs. */
function newPatience(): AbortController {
  const patience = new AbortController();
  setMaxListeners(0, patience.signal);
  return patience;
}
