import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '@tidegate/kube/testing';
import { Exchange, isWatch, listOptions, negotiate, watchOptions } from '@tidegate/serving';
import type { Chain, DependencyListener } from '../../filters/filter.ts';
import { Projections, readSelection } from '../../projections/index.ts';
import type { View } from '../../views/view.ts';
import { answerList } from '../list.ts';
import { answerStatus } from '../status.ts';
import { answerWatch } from '../watch.ts';

/** Serves lists and watches of one view on a real socket, with virtual time. */
export class AnsweringServer {
  readonly clock = new VirtualClock();
  readonly stop = new AbortController();
  readonly projections: Projections;
  /** The number of requests that have not ended. */
  open = 0;
  readonly #listeners = new Set<DependencyListener>();
  readonly #server: Server;

  constructor(view: View, chain: () => Chain) {
    this.projections = new Projections({
      clock: this.clock,
      context: { subscribe: (listener) => this.#subscribe(listener) },
      causes: [],
      onFault: (_, error) => {
        throw error;
      },
    });
    this.#server = createServer(async (request, response) => {
      this.open += 1;
      const exchange = new Exchange(request, response);
      await this.#answer(exchange, view, chain).catch((error: unknown) => answerStatus(exchange, error));
      this.open -= 1;
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  dependencyChanged(dependency: string, resourceVersion: string): void {
    for (const listener of this.#listeners) listener(new Set([dependency]), resourceVersion);
  }

  /** Resolves when the headers have arrived. The caller reads the body. */
  async get(query: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
    const request = get(`${this.url}/?${query}`, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  /** Counts what waits for a client. */
  queued: (bytes: number) => boolean = () => true;

  async close(): Promise<void> {
    this.stop.abort();
    this.projections.close();
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer(exchange: Exchange, view: View, chain: () => Chain): Promise<void> {
    const { searchParams: query } = new URL(exchange.request.url ?? '', this.url);
    const representation = negotiate(exchange.request.headers.accept);
    const queued = (bytes: number): boolean => this.queued(bytes);
    const context = { clock: this.clock, signal: this.stop.signal, queued };
    const hold = this.projections.hold(view, chain, readSelection('', query));
    try {
      if (isWatch(query)) await answerWatch(exchange, hold, watchOptions(query), representation, context);
      else await answerList(exchange, hold, listOptions(query), representation, context);
    } finally {
      hold.release();
    }
  }

  #subscribe(listener: DependencyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Polls until the condition is met. The timeout of the test is the limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Collects the events of a watch. */
export class Reader {
  readonly frames: {
    type: string;
    object: Record<string, unknown> & { metadata: Record<string, unknown> };
  }[] = [];
  /** `end`: the response ended normally. `cut`: the connection was closed before. */
  over: 'end' | 'cut' | undefined;
  readonly response: IncomingMessage;
  #rest = '';

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      this.frames.push(...lines.map((line) => JSON.parse(line)));
    });
    response.on('end', () => {
      this.over = 'end';
    });
    response.on('error', () => {
      this.over = 'cut';
    });
  }

  get texts(): string[] {
    return this.frames.map(({ type, object }) => {
      const { name, resourceVersion, annotations } = object.metadata;
      const mark = annotations === undefined ? '' : ` ${Object.keys(annotations ?? {})}`;
      return `${type} ${name ?? object.code ?? ''}@${resourceVersion ?? object.message}${mark}`;
    });
  }
}
