import { silentLogger } from '../base/log.ts';
import type { KubeList, KubeObject, Status } from '../base/object.ts';
import type { ClusterConfig } from '../config/cluster.ts';
import { decodeList, WireError } from '../protobuf/index.ts';
import { Discovery } from './discovery.ts';
import { ConnectionError, isExpired } from './errors.ts';
import { completeList } from './list.ts';
import {
  type CallOptions,
  type DeleteOptions,
  deleteBody,
  type ListOptions,
  listQuery,
  PATCH_TYPES,
  type PatchOptions,
  type PatchType,
  type SelectOptions,
  selectQuery,
  type WatchOptions,
  type WriteOptions,
  watchQuery,
  writeQuery,
} from './options.ts';
import { isProtobuf, ProtobufNegotiation } from './protobuf.ts';
import { pathOf, type Resource, type Target } from './resource.ts';
import { type HttpRequest, Transport, type TransportOptions } from './transport.ts';
import { type WatchEvent, watchEvents } from './watch.ts';
import { framedEvents } from './watch-frames.ts';

/** Options of {@link KubeClient}. */
export interface ClientOptions extends TransportOptions {
  /**
   * Ask for lists and watches in protobuf where this package can read it. The objects are the same; a watch takes
   * half the bytes.
   */
  protobuf?: boolean;
}

const PAGE_SIZE = 500;

/**
 * The verbs of the Kubernetes API, for any resource. Every method throws ApiStatusError, ConnectionError or
 * DeadlineError.
 *
 * @example
 * const client = new KubeClient(await loadConfig({ env: process.env }), { userAgent: 'shop/1.0' });
 * const { items } = await client.list(PODS, { namespace: 'default', labelSelector: 'app=web' });
 * await client.patch(DEPLOYMENTS, { namespace: 'default', name: 'web' }, 'merge', { spec: { replicas: 3 } });
 */
export class KubeClient {
  readonly config: ClusterConfig;
  readonly discovery: Discovery;
  readonly #transport: Transport;
  readonly #protobuf: ProtobufNegotiation;

  constructor(config: ClusterConfig, options: ClientOptions = {}) {
    this.config = config;
    this.#transport = new Transport(config, options);
    this.#protobuf = new ProtobufNegotiation(options.protobuf === true, options.log ?? silentLogger);
    this.discovery = new Discovery((path, accept) => this.raw({ method: 'GET', path, headers: { accept } }));
  }

  /** Reads one object. Check for its absence with `isNotFound`. */
  async get<T extends KubeObject>(
    resource: Resource<T>,
    target: Target,
    options: CallOptions = {},
  ): Promise<T> {
    return this.#json<T>({ method: 'GET', path: pathOf(resource, target) }, options);
  }

  /** The complete list, fetched page by page; all pages show the same resource version. */
  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    const { limit = PAGE_SIZE, ...rest } = options;
    const items: T[] = [];
    try {
      let last: KubeList<T> | undefined;
      for await (const page of this.pages(resource, { ...rest, limit })) {
        for (const item of page.items) items.push(item);
        last = page;
      }
      return { ...last!, items };
    } catch (error) {
      // The server compacted its history before the last page was read. A list in one piece cannot expire.
      if (items.length === 0 || !isExpired(error)) throw error;
      return this.listPage(resource, { ...rest, limit: undefined });
    }
  }

  /**
   * The list page by page, so that not all objects are in memory at once. All pages show the same resource version.
   * Throws an error that `isExpired` accepts if the server forgets that version before the last page.
   */
  async *pages<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): AsyncGenerator<KubeList<T>> {
    let request: ListOptions = { limit: PAGE_SIZE, ...options };
    for (;;) {
      const page = await this.listPage(resource, request);
      yield page;
      if (page.metadata.continue === undefined || page.metadata.continue === '') return;
      // The continue token includes the resource version of the first page; the server rejects requests that have
      // both.
      request = {
        ...request,
        continue: page.metadata.continue,
        resourceVersion: undefined,
        resourceVersionMatch: undefined,
      };
    }
  }

  /** One list request with exactly these options. */
  async listPage<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<KubeList<T>> {
    const { signal, deadlineMs } = options;
    const path = pathOf(resource, { namespace: options.namespace });
    const headers = this.#protobuf.headers(resource, 'list');
    const request: HttpRequest = { method: 'GET', path, query: listQuery(options), headers, signal };
    const answer = await this.#transport.call(request, deadlineMs);
    if (!isProtobuf(answer.contentType)) return completeList(parsed(request, answer.body), resource);
    try {
      return decodeList(answer.body) as KubeList<T>;
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#protobuf.giveUp(resource, error);
      // A server that sends protobuf although the request did not allow it would do so again.
      if (headers.accept === undefined) throw new ConnectionError(describe(request), error);
      return this.listPage(resource, options);
    }
  }

  /**
   * Resolves once the server has accepted the watch. The events follow until the watch ends, which is normal after
   * some minutes, or `signal` is aborted. Use an `Informer` unless you need the raw events: it resumes and recovers.
   */
  async watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): Promise<AsyncGenerator<WatchEvent<T>>> {
    const path = pathOf(resource, { namespace: options.namespace });
    const headers = this.#protobuf.headers(resource, 'watch');
    const { signal } = options;
    const request: HttpRequest = { method: 'GET', path, query: watchQuery(options), headers, signal };
    const { contentType, chunks } = await this.#transport.open(request);
    return isProtobuf(contentType) ? this.#framedEvents(resource, request, chunks) : watchEvents<T>(chunks);
  }

  /** With a `subresource` (binding, token, eviction), the name of the object is that of its parent. */
  async create<T extends KubeObject>(
    resource: Resource,
    object: T,
    options: WriteOptions & { namespace?: string } = {},
  ): Promise<T> {
    const namespace = options.namespace ?? object.metadata.namespace;
    const target =
      options.subresource === undefined
        ? { namespace }
        : { namespace, name: object.metadata.name, subresource: options.subresource };
    return this.#write('POST', pathOf(resource, target), object, options);
  }

  /** Fails with a conflict unless `metadata.resourceVersion` is current. Without a resourceVersion it overwrites. */
  async update<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#write('PUT', pathOf(resource, targetOf(object, options.subresource)), object, options);
  }

  /**
   * Changes an object with a patch of the given type. For server-side apply, use `Applier`.
   *
   * @example
   * await client.patch(DEPLOYMENTS, { namespace: 'default', name: 'web' }, 'merge', { spec: { replicas: 3 } });
   */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    target: Target,
    type: PatchType,
    patch: unknown,
    options: PatchOptions = {},
  ): Promise<T> {
    return this.#json<T>(
      {
        method: 'PATCH',
        path: pathOf(resource, target),
        query: { ...writeQuery(options), force: options.force },
        headers: { 'content-type': PATCH_TYPES[type] },
        body: JSON.stringify(patch),
      },
      options,
    );
  }

  /** Returns the object if finalizers or a grace period keep it, otherwise a Status. */
  async delete<T extends KubeObject>(
    resource: Resource<T>,
    target: Target,
    options: DeleteOptions = {},
  ): Promise<T | Status> {
    return this.#delete<T | Status>(pathOf(resource, target), {}, options);
  }

  /** Deletes all objects that the selectors match. Not atomic: on an error, some of them may be gone. */
  async deleteCollection<T extends KubeObject>(
    resource: Resource<T>,
    options: SelectOptions & DeleteOptions = {},
  ): Promise<KubeList<T> | Status> {
    return this.#delete(pathOf(resource, { namespace: options.namespace }), selectQuery(options), options);
  }

  /** For requests that the verbs above do not cover. Returns the parsed JSON. */
  async raw(request: HttpRequest, options: CallOptions = {}): Promise<unknown> {
    return this.#json<unknown>(request, options);
  }

  /** Returns the body as text: logs, metrics, `/healthz`. */
  async text(path: string, options: CallOptions = {}): Promise<string> {
    const request: HttpRequest = { method: 'GET', path, headers: { accept: '*/*' }, signal: options.signal };
    return (await this.#transport.call(request, options.deadlineMs)).body.toString('utf8');
  }

  /** Aborts all open requests and watches. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  #write<T extends KubeObject>(
    method: 'POST' | 'PUT',
    path: string,
    object: T,
    options: WriteOptions,
  ): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    return this.#json<T>(
      { method, path, query: writeQuery(options), headers, body: JSON.stringify(object) },
      options,
    );
  }

  #delete<R>(path: string, query: HttpRequest['query'], options: DeleteOptions): Promise<R> {
    const fields = deleteBody(options);
    const body =
      fields === undefined
        ? {}
        : { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } };
    return this.#json<R>({ method: 'DELETE', path, query, ...body }, options);
  }

  async #json<R>(request: HttpRequest, { signal, deadlineMs }: CallOptions): Promise<R> {
    const { body } = await this.#transport.call({ signal, ...request }, deadlineMs);
    return parsed(request, body);
  }

  async *#framedEvents<T extends KubeObject>(
    resource: Resource<T>,
    request: HttpRequest,
    chunks: AsyncIterable<Buffer>,
  ): AsyncGenerator<WatchEvent<T>> {
    try {
      yield* framedEvents<T>(chunks);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#protobuf.giveUp(resource, error);
      throw new ConnectionError(describe(request), error);
    }
  }
}

const describe = ({ method, path }: HttpRequest): string => `${method} ${path}`;

function parsed<R>(request: HttpRequest, body: Buffer): R {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new ConnectionError(`${describe(request)}: the answer is not JSON`, error);
  }
}

const targetOf = (object: KubeObject, subresource: string | undefined): Partial<Target> => ({
  namespace: object.metadata.namespace,
  name: object.metadata.name ?? '',
  subresource,
});
