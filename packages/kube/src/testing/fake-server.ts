import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KubeObject, StatusDetails } from '../base/object.ts';
import { keyOf, type Resource } from '../client/resource.ts';
import { type ClusterConfig, fixedCredential } from '../config/cluster.ts';

/** The resource that the server serves. */
export const WIDGETS: Resource = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  namespaced: true,
};

interface FakeEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  revision: number;
  object: KubeObject;
}

interface Watch {
  response: ServerResponse;
  frozen: boolean;
}

/** An error to send instead of the answer. */
interface Failure {
  code: number;
  headers?: Record<string, string>;
  body?: string;
  details?: StatusDetails;
}

/** A request that the server has received, for assertions. */
export interface ReceivedRequest {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
}

/**
 * A list and watch endpoint of one resource, on a real socket, that can misbehave on demand: drop connections,
 * compact its history, go silent, repeat events, answer with errors. Use it to test how code handles a failing
 * server; use `@tidegate/envtest` to test against a correct one.
 *
 * @example
 * const server = new FakeServer();
 * const client = new KubeClient(await server.start());
 * server.put('a');
 * server.failNext({ code: 503, headers: { 'retry-after': '1' } });
 */
export class FakeServer {
  readonly requests: ReceivedRequest[] = [];
  /** Handles a request before everything else, for example for other paths; return false to continue. */
  intercept: (request: ReceivedRequest, response: ServerResponse) => boolean = () => false;
  supportsWatchList = true;
  /** Send every event this many times. */
  copies = 1;
  /** Hold one event back and send it after the next one. */
  swapping = false;
  readonly #server: Server;
  readonly #objects = new Map<string, KubeObject>();
  readonly #watches = new Set<Watch>();
  readonly #failures: Failure[] = [];
  #history: FakeEvent[] = [];
  #held: FakeEvent | undefined;
  #oldest = 0;
  #revision = 100;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<ClusterConfig> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    return { server: `http://127.0.0.1:${port}`, namespace: 'default', credentials: fixedCredential({}) };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get objects(): ReadonlyMap<string, KubeObject> {
    return this.#objects;
  }

  get watchers(): number {
    return this.#watches.size;
  }

  put(name: string, fields: Record<string, unknown> = {}): KubeObject {
    const key = `default/${name}`;
    const old = this.#objects.get(key);
    const revision = ++this.#revision;
    const uid = old?.metadata.uid ?? `uid-${revision}`;
    const metadata = { name, namespace: 'default', uid, resourceVersion: String(revision) };
    const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata, ...fields };
    this.#objects.set(key, object);
    this.#record({ type: old === undefined ? 'ADDED' : 'MODIFIED', revision, object });
    return object;
  }

  remove(name: string): void {
    const old = this.#objects.get(`default/${name}`);
    if (old === undefined) return;
    this.#objects.delete(keyOf(old));
    const revision = ++this.#revision;
    const object = { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } };
    this.#record({ type: 'DELETED', revision, object });
  }

  bookmark(): void {
    this.flush();
    for (const watch of this.#watches) this.#bookmarkTo(watch);
  }

  /** Breaks all watches; half of them in the middle of a line. */
  drop(): void {
    this.flush();
    for (const { response } of this.#watches) {
      response.write('{"type":"ADD');
      response.destroy();
    }
    this.#watches.clear();
  }

  /** Ends all watches, like a server when their timeout expires. */
  end(): void {
    this.flush();
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  /** The open watches stay open and send nothing any more. */
  freeze(): void {
    this.flush();
    for (const watch of this.#watches) watch.frozen = true;
  }

  /** Compacts the history: attempts to resume a watch get a 410. */
  compact(): void {
    this.#history = [];
    this.#oldest = this.#revision;
  }

  /**
   * Restores a backup. A watch that resumes from a later version receives nothing until the server reaches that
   * version.
   */
  restore(revision: number): void {
    for (const [key, object] of this.#objects) {
      if (Number(object.metadata.resourceVersion) > revision) this.#objects.delete(key);
    }
    this.#history = this.#history.filter((event) => event.revision <= revision);
    this.#revision = revision;
  }

  /** Answers the next request with this error. */
  failNext(failure: Failure): void {
    this.#failures.push(failure);
  }

  /** Sends an ERROR event on all open watches and ends them. */
  sendError(code: number, reason: string): void {
    for (const { response } of this.#watches) {
      response.end(`${JSON.stringify({ type: 'ERROR', object: status(code, reason) })}\n`);
    }
    this.#watches.clear();
  }

  /** Sends the event that was held back. */
  flush(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#broadcast(held);
  }

  #record(event: FakeEvent): void {
    this.#history.push(event);
    if (this.swapping && this.#held === undefined) {
      this.#held = event;
      return;
    }
    this.#broadcast(event);
    this.flush();
  }

  #broadcast(event: FakeEvent): void {
    for (const watch of this.#watches) for (let i = 0; i < this.copies; i++) send(watch, event);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url ?? '/', 'http://fake');
    const body = Buffer.concat(chunks).toString();
    const received = { method: request.method ?? '', url, headers: request.headers, body };
    this.requests.push(received);
    const failure = this.#failures.shift();
    if (failure !== undefined) return answerFailure(response, failure);
    if (this.intercept(received, response)) return;
    if (url.searchParams.get('watch') === 'true') this.#watch(url.searchParams, response);
    else this.#list(url.searchParams, response);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const all = [...this.#objects.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const [at, from] = (query.get('continue') ?? `${this.#revision}:0`).split(':').map(Number);
    if (at! < this.#oldest) {
      answerFailure(response, { code: 410 });
      return;
    }
    const limit = Number(query.get('limit') ?? 0) || all.length;
    const end = from! + limit;
    const metadata = {
      resourceVersion: String(this.#revision),
      ...(end < all.length ? { continue: `${at}:${end}` } : {}),
    };
    const items = all.slice(from, end);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ apiVersion: 'example.com/v1', kind: 'WidgetList', metadata, items }));
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    const initial = query.get('sendInitialEvents') === 'true';
    const from = initial ? this.#revision : Number(query.get('resourceVersion'));
    const refusal = initial && !this.supportsWatchList ? 422 : from < this.#oldest ? 410 : undefined;
    if (refusal !== undefined) {
      answerFailure(response, { code: refusal });
      return;
    }
    this.flush();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watch = { response, frozen: false };
    if (initial) {
      for (const object of this.#objects.values()) send(watch, { type: 'ADDED', revision: from, object });
      this.#bookmarkTo(watch, { 'k8s.io/initial-events-end': 'true' });
    } else {
      for (const event of this.#history) if (event.revision > from) send(watch, event);
    }
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
  }

  #bookmarkTo(watch: Watch, annotations?: Record<string, string>): void {
    const metadata = { resourceVersion: String(this.#revision), annotations };
    const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata };
    send(watch, { type: 'BOOKMARK', object });
  }
}

function send(
  { response, frozen }: Watch,
  { type, object }: { type: string; object: KubeObject; revision?: number },
): void {
  if (!frozen) response.write(`${JSON.stringify({ type, object })}\n`);
}

const REASONS: Readonly<Record<number, string>> = { 400: 'BadRequest', 410: 'Expired', 422: 'Invalid' };

function answerFailure(response: ServerResponse, { code, headers, body, details }: Failure): void {
  response.writeHead(code, headers);
  response.end(body ?? JSON.stringify({ ...status(code, REASONS[code] ?? ''), details }));
}

const status = (code: number, reason: string): Record<string, unknown> => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `injected error ${code}`,
  reason,
  code,
});
