import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';
import { KUBE_PROXY_USER_AGENT } from '../../packages/tidegate/src/api/index.ts';
import type { Cluster } from './cluster.ts';

/**
 * A way to the API server (direct, through nginx, or through the hub) for a program on the node, which
 * authenticates with a token as kube-proxy.
 */
export class Way {
  readonly #url: string;
  readonly #token: string;
  readonly #agent: Agent;

  constructor(url: string, { directory, token }: Cluster, connections = 16) {
    const ca = readFileSync(join(directory, 'data', 'pki', 'ca.crt'));
    this.#url = url;
    this.#token = token;
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      bodyTimeout: 0,
      headersTimeout: 0,
      connect: { ca },
    });
  }

  async read(path: string, headers?: Record<string, string>): Promise<Buffer> {
    const { body } = await this.open(path, headers);
    return Buffer.from(await body.arrayBuffer());
  }

  async open(path: string, headers: Record<string, string> = {}): Promise<Dispatcher.ResponseData> {
    const answer = await request(this.#url + path, {
      dispatcher: this.#agent,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${this.#token}`,
        'user-agent': `${KUBE_PROXY_USER_AGENT}/v1.36.4`,
        ...headers,
      },
    });
    if (answer.statusCode === 200) return answer;
    throw new Error(`GET ${path} answered ${answer.statusCode}: ${(await answer.body.text()).slice(0, 500)}`);
  }

  /** The current version of a list, to start a watch from. */
  async version(path: string): Promise<string> {
    return JSON.parse((await this.read(`${path}?resourceVersion=0`)).toString()).metadata.resourceVersion;
  }

  /**
   * Calls `onEvents` with each chunk that arrives. Resolves when the watch is open, to a function that closes
   * it.
   */
  async watch(path: string, version: string, onEvents: (bytes: Buffer) => void): Promise<() => void> {
    const { body } = await this.open(`${path}?watch=true&resourceVersion=${version}`);
    body.on('data', onEvents);
    body.on('error', () => undefined); // The caller closed the watch.
    return () => body.destroy();
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** One value for each way to the API server. */
export type PerWay<T> = Record<'direct' | 'nginx' | 'hub', T>;

/** Measures the three ways one after the other. */
export async function eachWay<T>(measure: (name: keyof PerWay<T>) => Promise<T>): Promise<PerWay<T>> {
  return { direct: await measure('direct'), nginx: await measure('nginx'), hub: await measure('hub') };
}
