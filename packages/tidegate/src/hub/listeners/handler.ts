import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Logger, type Metrics, orAborted } from '@tidegate/kube';
import {
  ApiError,
  badRequest,
  Exchange,
  type RequestInfo,
  type RequestTarget,
  requestInfo,
  requestTarget,
} from '@tidegate/serving';
import { answerStatus } from '../answers/index.ts';
import { type Authenticator, credentialOf, type Entrance, type Identity } from '../identity/index.ts';
import { componentOf, type RequestDispatcher, refusalOf } from '../requests/index.ts';
import { type Upstream, unavailable, writeHead } from '../upstream/index.ts';
import type { Connections } from './connections.ts';

export interface HandlerOptions {
  authenticator: Pick<Authenticator, 'authenticate' | 'tenantOf'>;
  connections: Pick<Connections, 'authenticated'>;
  dispatcher: Pick<RequestDispatcher, 'dispatch'>;
  upstream: Pick<Upstream, 'upgrade'>;
  metrics: Metrics;
  log: Logger;
  /** Aborted when the hub shuts down. */
  signal: AbortSignal;
}

/**
 * Handles every request that reaches a listener: parses the path, authenticates the client, and passes the call to the
 * dispatcher. It answers every failure with a Status object, as an API server does.
 */
export class Handler {
  readonly #options: HandlerOptions;
  readonly #requests;
  /** The resources that an API server has. Clients can invent any number of others, which share one label. */
  readonly #resources = new Set<string>();

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#requests = options.metrics.counter('tidegate_hub_requests_total', {
      help: 'Number of client requests, by verb, resource and status code. Resources that no response has shown to exist are counted as other.',
      labels: ['verb', 'resource', 'code'],
    });
  }

  /** Handles one request until the response is complete. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, entrance: Entrance): Promise<void> {
    const exchange = new Exchange(request, response);
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    const { authenticator, dispatcher, signal: stopping } = this.#options;
    response.once('close', leave);
    stopping.addEventListener('abort', leave);
    if (stopping.aborted) leave();
    let info: RequestInfo | undefined;
    try {
      const target = requestTarget(request.url ?? '');
      info = requestInfo(request.method ?? 'GET', target);
      const identity = await orAborted(authenticator.authenticate(request, entrance), gone.signal);
      this.#countConnection(request, identity);
      const component = componentOf(request.headers['user-agent']);
      await dispatcher.dispatch({ exchange, target, info, identity, component, signal: gone.signal });
    } catch (error) {
      await this.#fail(exchange, error, gone.signal);
    } finally {
      response.off('close', leave);
      stopping.removeEventListener('abort', leave);
      this.#count(info, response);
    }
  }

  /**
   * Forwards the Upgrade request of exec, attach or port-forward, which only the API server can serve. Never
   * rejects.
   */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, entrance: Entrance): Promise<void> {
    const { authenticator, upstream } = this.#options;
    try {
      const target = requestTarget(request.url ?? '');
      const identity = await authenticator.authenticate(request, entrance);
      this.#countConnection(request, identity);
      checkUpgrade(request, target);
      await upstream.upgrade({ request, path: target.text, socket, head }, credentialOf(identity));
    } catch (error) {
      const refusal = refusalOf(error);
      const { status } =
        refusal instanceof ApiError ? refusal : unavailable('the hub could not forward the connection');
      const body = `${JSON.stringify(status)}\n`;
      writeHead(socket, status.code, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        connection: 'close',
      });
      socket.end(body);
    }
  }

  /** Counts the connection for the client that it belongs to. Throws 429 if the client has too many. */
  #countConnection({ socket }: IncomingMessage, identity: Identity): void {
    const { authenticator, connections } = this.#options;
    const tenant = identity.kind === 'bearer' ? authenticator.tenantOf(identity) : undefined;
    const owner = identity.kind === 'node' ? 'node' : tenant === undefined ? undefined : { tenant };
    if (owner === undefined || connections.authenticated(socket, owner)) return;
    const message = `${tenant} has too many connections to the hub; close some, or use them for more than one request`;
    throw new ApiError(429, 'TooManyRequests', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  /**
   * Sends an error as a Status object. If the response has started already, it closes the connection, so that
   * the client sees a truncated response.
   */
  async #fail(exchange: Exchange, error: unknown, signal: AbortSignal): Promise<void> {
    // The client has disconnected.
    if (exchange.response.destroyed) return;
    const refusal = signal.aborted ? unavailable('the hub is shutting down') : refusalOf(error);
    if (!(refusal instanceof ApiError)) this.#options.log.error({ err: error }, 'request failed');
    try {
      await answerStatus(exchange, refusal);
    } catch (failure) {
      this.#options.log.debug({ err: failure }, 'could not send an error response');
      exchange.response.destroy();
    }
  }

  #count(info: RequestInfo | undefined, response: ServerResponse): void {
    const { statusCode: code } = response;
    const verb = info?.verb ?? '';
    const resource = info?.type === 'resource' ? info.resource : '';
    const exists = code < 400 && response.headersSent;
    if (exists && this.#resources.size < MAX_RESOURCES) this.#resources.add(resource);
    const label = resource === '' || this.#resources.has(resource) ? resource : OTHER;
    this.#requests.inc({ verb, resource: label, code: String(code) });
  }
}

/** When a client that has too many connections may try again. */
const RETRY_AFTER_SECONDS = 5;
/** The most resources with a label of their own in metrics. */
const MAX_RESOURCES = 1_000;
const OTHER = 'other';

/** Subresources that stream data over an upgraded connection. */
const STREAMS = new Set(['exec', 'attach', 'portforward', 'proxy', 'log']);

/** API servers also serve watches over WebSockets. The hub cannot filter those, so it rejects them. */
function checkUpgrade({ method = 'GET' }: IncomingMessage, target: RequestTarget): void {
  const info = requestInfo(method, target);
  if (info.type === 'resource' && STREAMS.has(info.subresource)) return;
  throw badRequest(
    'the hub upgrades connections only for exec, attach, port-forward, log and proxy; send this request without an Upgrade header',
  );
}
