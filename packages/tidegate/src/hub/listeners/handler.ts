import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger, Metrics } from '@tidegate/kube';
import { ApiError, badRequest, Exchange, type RequestInfo, requestInfo } from '@tidegate/serving';
import { answerStatus } from '../answers/index.ts';
import { type Authenticator, credentialOf, type Entrance } from '../identity/index.ts';
import { componentOf, type RequestDispatcher, refusalOf } from '../requests/index.ts';
import { type Upstream, unavailable, writeHead } from '../upstream/index.ts';

export interface HandlerOptions {
  authenticator: Pick<Authenticator, 'authenticate'>;
  dispatcher: RequestDispatcher;
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

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#requests = options.metrics.counter('tidegate_hub_requests_total', {
      help: 'Number of client requests, by verb, resource and status code.',
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
      const url = new URL(request.url ?? '/', 'http://hub');
      info = requestInfo(request.method ?? 'GET', url);
      const identity = await authenticator.authenticate(request, entrance);
      const component = componentOf(request.headers['user-agent']);
      await dispatcher.dispatch({ exchange, url, info, identity, component, signal: gone.signal });
    } catch (error) {
      await this.#fail(exchange, error, gone.signal);
    } finally {
      response.off('close', leave);
      stopping.removeEventListener('abort', leave);
      this.#count(info, response.statusCode);
    }
  }

  /**
   * Forwards the Upgrade request of exec, attach or port-forward, which only the API server can serve. Never
   * rejects.
   */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, entrance: Entrance): Promise<void> {
    const { authenticator, upstream } = this.#options;
    try {
      const identity = await authenticator.authenticate(request, entrance);
      checkUpgrade(request);
      await upstream.upgrade(request, socket, head, credentialOf(identity));
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

  #count(info: RequestInfo | undefined, code: number): void {
    const verb = info?.verb ?? '';
    const resource = info?.type === 'resource' ? info.resource : '';
    this.#requests.inc({ verb, resource, code: String(code) });
  }
}

/** Subresources that stream data over an upgraded connection. */
const STREAMS = new Set(['exec', 'attach', 'portforward', 'proxy', 'log']);

/** API servers also serve watches over WebSockets. The hub cannot filter those, so it rejects them. */
function checkUpgrade({ method = 'GET', url = '/' }: IncomingMessage): void {
  const info = requestInfo(method, new URL(url, 'http://hub'));
  if (info.type === 'resource' && STREAMS.has(info.subresource)) return;
  throw badRequest(
    'the hub upgrades connections only for exec, attach, port-forward, log and proxy; send this request without an Upgrade header',
  );
}
