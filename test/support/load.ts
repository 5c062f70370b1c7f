import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failures } from './failures.ts';
import { PATIENCE_MS } from './patience.ts';

export interface Answer {
  pod: string;
  node: string;
  pool: string;
  image: string;
  path: string;
}

/** Ten clients send about 200 requests per second. More would not fail more often, but take CPU time from other tests. */
const PAUSE_MS = 50;

/** Continuous requests until `stop`: some over connections that stay open, some over a new connection each. */
export class Load {
  readonly #failures = new Failures();
  readonly pods = new Map<string, number>();
  answered = 0;
  readonly #agents: Agent[] = [];
  readonly #clients: Promise<void>[] = [];
  #stopped = false;

  constructor(urls: string[]) {
    for (const url of urls) {
      const staying = new Agent({ keepAlive: true, maxSockets: 1 });
      this.#agents.push(staying);
      this.#clients.push(this.#client(url, staying), this.#client(url, undefined));
    }
  }

  /** One line for each kind of failure. */
  get failures(): string {
    return this.#failures.toString();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    for (const agent of this.#agents) agent.destroy();
  }

  async #client(url: string, agent: Agent | undefined): Promise<void> {
    while (!this.#stopped) {
      try {
        const { pod } = await ask(url, agent);
        this.answered += 1;
        this.pods.set(pod, (this.pods.get(pod) ?? 0) + 1);
      } catch (error) {
        this.#failures.add(`${url} over a ${agent ? 'kept' : 'new'} connection: ${error}`);
      }
      await sleep(PAUSE_MS);
    }
  }
}

/** One request; anything but a complete response of a stand-in is an error. */
export function ask(
  url: string,
  agent?: Agent,
  headers?: Record<string, string>,
  signal?: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Without an agent, a request uses its own connection.
    const options = { agent: agent ?? false, headers, timeout: PATIENCE_MS, signal };
    const request = get(url, options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(body) as Answer);
        else
          reject(
            Object.assign(new Error(`status ${response.statusCode}: ${body.trim()}`), {
              code: `HTTP_${response.statusCode}`,
            }),
          );
      });
    });
    request.on('timeout', () => request.destroy(new Error(`no response within ${PATIENCE_MS} ms`)));
    request.on('error', (error) => reject(Object.assign(error, { reusedSocket: request.reusedSocket })));
  });
}
