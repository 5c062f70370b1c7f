import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger, Metrics } from '@tidegate/kube';
import { ApiError, badRequest, Exchange, type RequestInfo, requestInfo } from '@tidegate/serving';
import { answerStatus } from '../answers/index.ts';
import type { DiscoveryCache } from '../discovery/index.ts';
import type { Chain } from '../filters/filter.ts';
import type { Authenticator, Entrance } from '../identity/authenticator.ts';
import { credentialOf } from '../identity/credential.ts';
import { componentOf } from '../request/index.ts';
import { unavailable } from '../unavailable.ts';
import { type Upstream, writeHead } from '../upstream/index.ts';
import { type Call, impersonates, type ResourceCall } from './call.ts';
import { refusalOf } from './failures.ts';
import type { Forwarding } from './forwarding.ts';
import type { Reads } from './reads.ts';
import type { Writes } from './writes.ts';

export interface HandlerOptions {
  authenticator: Pick<Authenticator, 'authenticate'>;
  upstream: Pick<Upstream, 'online' | 'upgrade'>;
  reads: Reads;
  writes: Writes;
  discovery: DiscoveryCache;
  forwarding: Forwarding;
  chainFor(call: ResourceCall): Chain;
  metrics: Metrics;
  log: Logger;
  /** Aborted when the hub stops. */
  signal: AbortSignal;
}

const READS = new Set(['get', 'list', 'watch']);

/** Every request that reaches the hub, whichever way it came in. */
export class Handler {
  readonly #options: HandlerOptions;
  readonly #requests;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#requests = options.metrics.counter('tidegate_hub_requests_total', {
      help: 'Requests of clients, by verb, resource and answer.',
      labels: ['verb', 'resource', 'code'],
    });
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, entrance: Entrance): Promise<void> {
    const exchange = new Exchange(request, response);
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    const { signal: stopping } = this.#options;
    response.once('close', leave);
    stopping.addEventListener('abort', leave);
    if (stopping.aborted) leave();
    let info: RequestInfo | undefined;
    try {
      const url = new URL(request.url ?? '/', 'http://hub');
      info = requestInfo(request.method ?? 'GET', url);
      const identity = await this.#options.authenticator.authenticate(request, entrance);
      const component = componentOf(request.headers['user-agent']);
      await this.#route({ exchange, url, info, identity, component, signal: gone.signal });
    } catch (error) {
      await this.#fail(exchange, error, gone.signal);
    } finally {
      response.off('close', leave);
      stopping.removeEventListener('abort', leave);
      this.#count(info, response.statusCode);
    }
  }

  /** Exec, attach, port-forward: only the API server can do that. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, entrance: Entrance): Promise<void> {
    try {
      const identity = await this.#options.authenticator.authenticate(request, entrance);
      checkUpgrade(request);
      await this.#options.upstream.upgrade(request, socket, head, credentialOf(identity));
    } catch (error) {
      const refusal = refusalOf(error);
      const { status } =
        refusal instanceof ApiError ? refusal : unavailable('the connection can not be passed on');
      const body = `${JSON.stringify(status)}\n`;
      writeHead(socket, status.code, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        connection: 'close',
      });
      socket.end(body);
    }
  }

  async #route(call: Call): Promise<void> {
    const { reads, writes, discovery, forwarding, upstream, chainFor } = this.#options;
    const { exchange } = call;
    if (impersonates(exchange.request.headers)) {
      if (!upstream.online)
        throw unavailable('the API server can not be reached, and only it can say who may speak for others');
      if (call.info.type === 'resource' && chainFor(call as ResourceCall).filters.length > 0)
        throw badRequest(
          `what ${call.component} sees of ${call.info.resource} is filtered; it can not be read for somebody else`,
        );
      return forwarding.pass(call);
    }
    if (call.info.type === 'path') {
      if (!(await discovery.serve(call))) await forwarding.pass(call);
      return;
    }
    const resourceCall = call as ResourceCall;
    if (!READS.has(call.info.verb)) return writes.serve(resourceCall);
    // Logs, proxies and the like are not objects. Status is, but nobody watches it.
    if (call.info.subresource !== '') return forwarding.pass(call);
    await reads.serve(resourceCall);
  }

  async #fail(exchange: Exchange, error: unknown, signal: AbortSignal): Promise<void> {
    // Nobody is there to be told.
    if (exchange.response.destroyed) return;
    const refusal = signal.aborted ? unavailable('the hub is stopping') : refusalOf(error);
    if (!(refusal instanceof ApiError)) this.#options.log.error({ err: error }, 'a request failed');
    try {
      await answerStatus(exchange, refusal);
    } catch (failure) {
      this.#options.log.debug({ err: failure }, 'a failure could not be told');
      exchange.response.destroy();
    }
  }

  #count(info: RequestInfo | undefined, code: number): void {
    const verb = info?.verb ?? '';
    const resource = info?.type === 'resource' ? info.resource : '';
    this.#requests.inc({ verb, resource, code: String(code) });
  }
}

const STREAMS = new Set(['exec', 'attach', 'portforward', 'proxy', 'log']);

/** API servers stream watches over websockets too: nothing could be filtered there. */
function checkUpgrade({ method = 'GET', url = '/' }: IncomingMessage): void {
  const info = requestInfo(method, new URL(url, 'http://hub'));
  if (info.type === 'resource' && STREAMS.has(info.subresource)) return;
  throw badRequest(
    'the hub upgrades connections for exec, attach, port-forward, log and proxy only; ask for this without an Upgrade header',
  );
}
