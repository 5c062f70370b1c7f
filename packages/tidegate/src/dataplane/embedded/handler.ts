import type { Logger } from '@tidegate/kube';
import { match, type RouteTable } from '../../ingress/match/index.ts';
import type { RouteAction } from '../../ingress/model.ts';
import { identityHost } from '../answers.ts';
import type { DriverOptions } from '../driver.ts';
import { FIRST_CONNECT_MS, MAX_TRIES } from '../limits.ts';
import { answer, breakOff } from './answer.ts';
import { BodyTooLarge, BodyTooSlow, RequestBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import { mayBeSentAgain, UpstreamFailure } from './failure.ts';
import type { Member, Members } from './members.ts';
import { refusalOf } from './refusal.ts';
import type { Traffic } from './traffic.ts';
import type { Upstreams } from './upstreams.ts';

/** What a route sets for each attempt. */
interface Terms {
  readonly body: RequestBody | undefined;
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
}

/** Handles each request: routes it, and forwards it to an endpoint. */
export class Handler {
  readonly #table: () => RouteTable;
  readonly #upstreams: Upstreams;
  readonly #defaults: DriverOptions['defaults'];
  readonly #identityHost: string | undefined;
  readonly #traffic: Traffic;
  readonly #log: Logger;

  constructor(
    table: () => RouteTable,
    upstreams: Upstreams,
    deps: { options: Pick<DriverOptions, 'defaults' | 'identity'>; traffic: Traffic; log: Logger },
  ) {
    this.#table = table;
    this.#upstreams = upstreams;
    const { defaults, identity } = deps.options;
    this.#defaults = defaults;
    this.#identityHost = identity === undefined ? undefined : identityHost(identity);
    this.#traffic = deps.traffic;
    this.#log = deps.log;
  }

  /** Never throws. Each request gets exactly one response, and is counted once. */
  handle(exchange: Exchange): void {
    // Clients may disconnect at any time. Without listeners, their errors would crash the program.
    exchange.request.on('error', () => {});
    exchange.response.on('error', () => {});
    if (this.#asksForIdentity(exchange)) {
      answer(exchange, 200);
      return;
    }
    exchange.response.once('close', () => this.#traffic.ended(exchange));
    this.#route(exchange).catch((error: unknown) => {
      this.#log.error({ err: error, requestId: exchange.id }, 'failed to handle a request');
      if (exchange.response.headersSent) breakOff(exchange);
      else answer(exchange, 500);
    });
  }

  /** Not traffic: such a request is in no metric and in no log. */
  #asksForIdentity({ host, secure }: Exchange): boolean {
    return !secure && this.#identityHost !== undefined && host === this.#identityHost;
  }

  async #route(exchange: Exchange): Promise<void> {
    const refusal = refusalOf(exchange);
    if (refusal !== undefined) return answer(exchange, refusal);
    const { host, target: path, secure, request } = exchange;
    const table = this.#table();
    // There is no table yet: it is unknown whether the route exists, so the response cannot be 404.
    if (table.generation === 0) return answer(exchange, 503);
    const found = match(table, { host, path, headers: request.headers, secure });
    switch (found.kind) {
      case 'badRequest':
        return answer(exchange, 400);
      case 'notFound':
        return answer(exchange, 404);
      case 'redirect':
        return answer(exchange, 308, ['Location', `https://${found.name}${path}`]);
      case 'route':
        exchange.matched = found;
        return this.#forward(exchange, found.action);
    }
  }

  /** Checks what is known before an endpoint is contacted, then tries endpoints. */
  async #forward(exchange: Exchange, { backends, limits }: RouteAction): Promise<void> {
    const maxBodyBytes = limits.maxBodyBytes ?? this.#defaults.maxBodyBytes;
    const members = this.#upstreams.choose(backends);
    exchange.upstream = members?.upstream;
    if (members === undefined || members.size === 0) return answer(exchange, 503);
    if (maxBodyBytes > 0 && Number(exchange.request.headers['content-length'] ?? 0) > maxBodyBytes) {
      return answer(exchange, 413);
    }
    const status = await this.#tryEach(exchange, members, {
      body: exchange.hasBody ? new RequestBody(exchange.request, maxBodyBytes) : undefined,
      connectTimeoutMs: limits.connectTimeoutMs ?? this.#defaults.connectTimeoutMs,
      readTimeoutMs: limits.readTimeoutMs ?? this.#defaults.readTimeoutMs,
    });
    if (status !== undefined) answer(exchange, status);
  }

  /** Resolves with the status to answer with if no endpoint answered. */
  async #tryEach(exchange: Exchange, members: Members, terms: Terms): Promise<number | undefined> {
    const tried = new Set<Member>();
    for (let status = 503; ; ) {
      const member = tried.size < MAX_TRIES ? members.pick(tried, performance.now()) : undefined;
      if (member === undefined) return status;
      tried.add(member);
      exchange.endpoints.push(member.name);
      const isLast = tried.size === MAX_TRIES || tried.size === members.size;
      const connectTimeoutMs = isLast
        ? terms.connectTimeoutMs
        : Math.min(terms.connectTimeoutMs, FIRST_CONNECT_MS);
      const failure = await this.#send(exchange, member, { ...terms, connectTimeoutMs });
      if (failure === undefined || exchange.gone) return undefined;
      if (failure instanceof BodyTooLarge) return 413;
      if (failure instanceof BodyTooSlow) return 408;
      status = failure.kind === 'timeout' ? 504 : 502;
      if (!mayBeSentAgain(exchange.method, failure, terms.body?.begun === true)) return status;
    }
  }

  /** One attempt. Returns the failure, or undefined if the client got the response of the endpoint. */
  async #send(
    exchange: Exchange,
    member: Member,
    { body, connectTimeoutMs, readTimeoutMs }: Terms,
  ): Promise<UpstreamFailure | BodyTooLarge | BodyTooSlow | undefined> {
    member.inFlight++;
    try {
      const onHead = (): void => member.answered();
      await member.connector(connectTimeoutMs).send(exchange, { body, readTimeoutMs, onHead });
      return undefined;
    } catch (error) {
      if (error instanceof BodyTooLarge || error instanceof BodyTooSlow) return error;
      if (!(error instanceof UpstreamFailure)) throw error;
      if (!exchange.gone) {
        member.failed(performance.now());
        this.#traffic.failed(exchange, error.kind);
        this.#log.warn(
          {
            endpoint: member.name,
            upstream: exchange.upstream?.id,
            requestId: exchange.id,
            why: error.message,
          },
          'an endpoint did not answer',
        );
      }
      return error;
    } finally {
      member.inFlight--;
    }
  }
}
