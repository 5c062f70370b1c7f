import type { Logger } from '@tidegate/kube';
import { clientSettingsOf } from '../../ingress/clients/index.ts';
import {
  type Authentication,
  decide,
  type Match,
  match,
  type RouteTable,
} from '../../ingress/match/index.ts';
import type { RouteAction } from '../../ingress/model.ts';
import {
  allowedOrigin,
  type Errors,
  errorHeaders,
  type Retry,
  type RoutePolicy,
  retries,
} from '../../ingress/policy/index.ts';
import { identityHost } from '../answers.ts';
import type { DriverOptions } from '../driver.ts';
import { FIRST_CONNECT_MS, MAX_KEPT_BODY_BYTES, MAX_TRIES } from '../limits.ts';
import { Stickiness } from './affinity.ts';
import { answer, breakOff } from './answer.ts';
import type { Authenticator, Denial } from './authenticate.ts';
import { BodyTooLarge, BodyTooSlow, bodyLimit, RequestBody } from './body.ts';
import { checkCertificate } from './client-certificates.ts';
import type { Call } from './connector.ts';
import type { Exchange } from './exchange.ts';
import type { ExternalAuthenticator } from './external-auth.ts';
import { IDEMPOTENT, mayBeSentAgain, UpstreamFailure } from './failure.ts';
import { isRepeated, ownHeader } from './headers.ts';
import { Limiter } from './limiter.ts';
import type { Member, Members } from './members.ts';
import type { Mirrors } from './mirrors.ts';
import { pick } from './pick.ts';
import { refusalOf } from './refusal.ts';
import type { Traffic } from './traffic.ts';
import type { Upstreams } from './upstreams.ts';

/** What a route sets for each attempt. */
interface Terms {
  readonly body: RequestBody | undefined;
  readonly connectTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly retry: Retry | undefined;
  readonly largeHead: boolean;
  /** The request is for an error: its answer is final. */
  readonly isForError?: true;
}

/** Handles each request: routes it, and forwards it to an endpoint. */
export class Handler {
  readonly #table: () => RouteTable;
  readonly #upstreams: Upstreams;
  readonly #defaults: DriverOptions['defaults'];
  readonly #identityHost: string | undefined;
  readonly #traffic: Traffic;
  readonly #authenticator: Authenticator;
  readonly #externalAuth: ExternalAuthenticator;
  readonly #mirrors: Mirrors;
  readonly #limiter = new Limiter(() => performance.now());
  readonly #log: Logger;

  constructor(
    table: () => RouteTable,
    upstreams: Upstreams,
    deps: {
      options: Pick<DriverOptions, 'defaults' | 'identity'>;
      traffic: Traffic;
      authenticator: Authenticator;
      externalAuth: ExternalAuthenticator;
      mirrors: Mirrors;
      log: Logger;
    },
  ) {
    this.#table = table;
    this.#upstreams = upstreams;
    const { defaults, identity } = deps.options;
    this.#defaults = defaults;
    this.#identityHost = identity === undefined ? undefined : identityHost(identity);
    this.#traffic = deps.traffic;
    this.#authenticator = deps.authenticator;
    this.#externalAuth = deps.externalAuth;
    this.#mirrors = deps.mirrors;
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
  #asksForIdentity({ host, encrypted }: Exchange): boolean {
    return !encrypted && this.#identityHost !== undefined && host === this.#identityHost;
  }

  async #route(exchange: Exchange): Promise<void> {
    const table = this.#table();
    exchange.believe(clientSettingsOf(table));
    const refusal = refusalOf(exchange);
    if (refusal !== undefined) return answer(exchange, refusal);
    const { host, target: path, secure, request } = exchange;
    // There is no table yet: it is unknown whether the route exists, so the response cannot be 404.
    if (table.generation === 0) return answer(exchange, 503);
    const found = match(table, { host, path, headers: request.headers, secure });
    switch (found.kind) {
      case 'badRequest':
        return answer(exchange, 400);
      case 'tooManySteps':
        return answer(exchange, 503);
      case 'notFound':
        return answer(exchange, 404);
      case 'redirect':
        return answer(exchange, 308, ['Location', `https://${exchange.secureAuthority(found.name)}${path}`]);
      case 'appRoot':
        return answer(exchange, 302, ['Location', `${exchange.scheme}://${host}${found.path}`]);
      case 'route':
        exchange.matched = found;
        return found.action.policy === undefined || (await this.#isPermitted(exchange, found, table))
          ? this.#forward(exchange, found.action)
          : undefined;
    }
  }

  /** Applies the policies of the route. False if they have answered the request. */
  async #isPermitted(
    exchange: Exchange,
    found: Extract<Match, { kind: 'route' }>,
    table: RouteTable,
  ): Promise<boolean> {
    const { client, secure, host: authority = '', target } = exchange;
    const { name, path } = found;
    const { method, request } = exchange;
    const origin = ownHeader(request, 'origin');
    const { clientCertificate, redirect, secure: redirectsToHttps } = found.action.policy ?? {};
    // Over plain HTTP, no client has a certificate: a redirect applies first.
    if (clientCertificate && (exchange.encrypted || !(redirect ?? redirectsToHttps))) {
      const refusal = checkCertificate(clientCertificate, exchange, { table, name });
      if (refusal !== undefined) {
        answer(exchange, refusal.status, refusal.headers);
        return false;
      }
    }
    const { cors, basic: users, externalAuth, customHeaders } = found.action.policy ?? {};
    const headers = customHeaders && table.credentials.get(customHeaders.credentials)?.headers;
    // The ConfigMap does not exist, or is not valid.
    if (customHeaders && headers === undefined) {
      answer(exchange, 503);
      return false;
    }
    // Router and endpoint could use different ones.
    if (
      ((users ?? externalAuth) && isRepeated(request, 'authorization')) ||
      (cors && isRepeated(request, 'origin'))
    ) {
      answer(exchange, 400);
      return false;
    }
    exchange.variesByOrigin = cors?.origins !== undefined;
    const allowed = cors && allowedOrigin(cors, origin);
    const sites = allowed === undefined ? {} : { 'Access-Control-Allow-Origin': allowed, ...cors?.headers };
    if (headers !== undefined || allowed !== undefined) exchange.added = withHeaders(sites, headers);
    const secureAuthority = exchange.secureAuthority(name);
    const facts = { client, secure, secureAuthority, name, authority, target, path, method, origin };
    const decision = decide(found, facts);
    if (decision.kind === 'answer') {
      const { status: code, location } = decision;
      answer(exchange, code, location === undefined ? [] : ['Location', location]);
      return false;
    }
    if (!this.#isWithinLimits(exchange, found.action.policy ?? {})) {
      answer(exchange, 503);
      return false;
    }
    const denial = await this.#denialOf(decision.authentication ?? {}, table, exchange);
    // A client that is gone gets no response.
    if (exchange.gone) return false;
    if (denial !== undefined) {
      answer(exchange, denial.status, denial.headers);
      return false;
    }
    exchange.changed = decision;
    return true;
  }

  /** Undefined if the client is served. With `satisfyAny`, one way to authenticate suffices. */
  async #denialOf(
    { basic, externalAuth, satisfyAny }: Authentication,
    table: RouteTable,
    exchange: Exchange,
  ): Promise<Denial | undefined> {
    const first = basic && (await this.#authenticator.basic(basic, table, exchange));
    const isDecided = first === undefined ? satisfyAny && basic : !satisfyAny || first.status >= 500;
    if (externalAuth === undefined || isDecided) return first;
    const second = await this.#externalAuth.check(externalAuth, exchange, table);
    // As in nginx, 401 wins over 403: the client can still authenticate.
    return second?.status === 403 && first?.status === 401 ? first : second;
  }

  #isWithinLimits(exchange: Exchange, { limit, zone = '' }: RoutePolicy): boolean {
    const end = limit && this.#limiter.begin(limit, zone, exchange.client);
    if (end !== undefined) exchange.response.once('close', end);
    return limit === undefined || end !== undefined;
  }

  /** Checks what is known before an endpoint is contacted, then tries endpoints. */
  async #forward(exchange: Exchange, { backends, limits, policy }: RouteAction): Promise<void> {
    const chosen = this.#upstreams.choose(backends, exchange.request.headers, policy?.affinity);
    exchange.upstream = chosen?.upstream;
    const members = this.#orErrors(policy?.errors, chosen, exchange);
    if (members === undefined || members.size === 0) return answer(exchange, 503);
    const { credentials } = members.upstream.tls ?? {};
    // The router has no certificate for the endpoints, or cannot check theirs.
    if (credentials !== undefined && this.#table().credentials.get(credentials) === undefined)
      return answer(exchange, 503);
    const length = exchange.request.headers['content-length'];
    // A stream of messages has no size that could be limited.
    const isStream = members.upstream.protocol === 'grpc';
    const maxBodyBytes = isStream ? 0 : bodyLimit(limits.maxBodyBytes ?? this.#defaults.maxBodyBytes, length);
    if (maxBodyBytes > 0 && Number(length ?? 0) > maxBodyBytes) return answer(exchange, 413);
    const body = exchange.hasBody
      ? new RequestBody(exchange.request, maxBodyBytes, () => exchange.askForBody())
      : undefined;
    const { retry } = limits;
    const mustKeep = body !== undefined && members.size > 1 && mayKeep(exchange, retry);
    if (mustKeep || policy?.mirror !== undefined) {
      try {
        if (mustKeep) await body.keep();
        if (policy?.mirror !== undefined && members.upstream.protocol !== 'grpc')
          await this.#mirrors.copy(policy.mirror, exchange, body);
      } catch (error) {
        if (exchange.gone) return;
        if (!(error instanceof BodyTooSlow)) throw error;
        return answer(exchange, 408);
      }
    }
    const readTimeoutMs = limits.readTimeoutMs ?? this.#defaults.readTimeoutMs;
    const status = await this.#tryEach(exchange, members, {
      body,
      connectTimeoutMs: limits.connectTimeoutMs ?? this.#defaults.connectTimeoutMs,
      sendTimeoutMs: limits.sendTimeoutMs ?? this.#defaults.readTimeoutMs,
      readTimeoutMs,
      retry,
      largeHead: limits.largeHead === true,
    });
    if (status === undefined) return;
    const isReplaced = (policy?.errors?.statuses as readonly number[] | undefined)?.includes(status);
    if (
      !isReplaced ||
      policy?.errors === undefined ||
      !(await this.#sendError(exchange, policy.errors, status))
    )
      answer(exchange, status);
  }

  /** The backend for errors, if the backend has no endpoints. */
  #orErrors(
    errors: Errors | undefined,
    chosen: Members | undefined,
    exchange: Exchange,
  ): Members | undefined {
    if (errors === undefined || (chosen !== undefined && chosen.size > 0)) return chosen;
    const others = this.#upstreams.get(errors.upstream);
    if (others === undefined || others.size === 0) return chosen;
    exchange.error = { headers: errorHeaders(errors, this.#factsOf(exchange, 503)) };
    return others;
  }

  /** False if the backend for errors does not answer: then the client gets the error itself. */
  async #sendError(exchange: Exchange, errors: Errors, status: number): Promise<boolean> {
    const members = this.#upstreams.get(errors.upstream);
    if (members === undefined || members.size === 0) return false;
    const method = exchange.method === 'HEAD' ? 'HEAD' : 'GET';
    exchange.error = { headers: errorHeaders(errors, this.#factsOf(exchange, status)), method };
    exchange.changed = { target: '/' };
    const { connectTimeoutMs, readTimeoutMs } = this.#defaults;
    const failed = await this.#tryEach(exchange, members, {
      ...{ body: undefined, connectTimeoutMs, readTimeoutMs, sendTimeoutMs: readTimeoutMs },
      ...{ retry: undefined, largeHead: false, isForError: true },
    });
    return failed === undefined;
  }

  #factsOf({ upstream, target, request }: Exchange, status: number): Parameters<typeof errorHeaders>[1] {
    const [, , port = ''] = (upstream?.id ?? '').split('_');
    return { status, accept: request.headers.accept, target, service: upstream?.service ?? '', port };
  }

  /** Resolves with the status to answer with if no endpoint answered. */
  async #tryEach(exchange: Exchange, members: Members, terms: Terms): Promise<number | undefined> {
    const { retry, body } = terms;
    const tried = new Set<Member>();
    const began = performance.now();
    const stickiness = Stickiness.of(exchange, members);
    const most = Math.min(retry?.tries ?? MAX_TRIES, members.size);
    const mayGoOn = (cause: Parameters<typeof retries>[1], failure: { sent: boolean }): boolean =>
      tried.size < most &&
      retries(retry, cause) &&
      mayBeSentAgain(exchange.method, failure, {
        isBodyGone: body?.isGone === true,
        anyMethod: retry?.anyMethod === true,
      }) &&
      !(retry !== undefined && retry.withinMs > 0 && performance.now() - began >= retry.withinMs);
    const { errors } = (terms.isForError ? undefined : exchange.matched?.action.policy) ?? {};
    const isReplaced = (status: number): boolean =>
      exchange.error === undefined &&
      (errors?.statuses as readonly number[] | undefined)?.includes(status) === true;
    const retriesStatus = (status: number): boolean => mayGoOn(status, { sent: true }) || isReplaced(status);
    for (let status = 503; ; ) {
      const now = performance.now();
      const member =
        (tried.size === 0 ? stickiness?.first(now) : undefined) ?? pick(exchange, members, { tried, now });
      if (member === undefined) return status;
      tried.add(member);
      exchange.endpoints.push(member.name);
      const connectTimeoutMs =
        tried.size === most ? terms.connectTimeoutMs : Math.min(terms.connectTimeoutMs, FIRST_CONNECT_MS);
      const failure = await this.#send(exchange, member, {
        ...{ ...terms, connectTimeoutMs, retriesStatus },
        onHead: () => stickiness?.answered(member),
      });
      if (failure === undefined || exchange.gone) return undefined;
      if (failure instanceof BodyTooLarge) return 413;
      if (failure instanceof BodyTooSlow) return 408;
      exchange.cookie = undefined;
      status = failure.status ?? (failure.kind === 'timeout' ? 504 : 502);
      const cause = failure.status ?? (failure.kind === 'timeout' ? 'timeout' : 'error');
      if (!mayGoOn(cause, failure)) return status;
    }
  }

  /** One attempt. Returns the failure, or undefined if the client got the response of the endpoint. */
  async #send(
    exchange: Exchange,
    member: Member,
    { connectTimeoutMs, largeHead, ...terms }: Terms & Pick<Call, 'retriesStatus' | 'onHead'>,
  ): Promise<UpstreamFailure | BodyTooLarge | BodyTooSlow | undefined> {
    member.inFlight++;
    try {
      const began = performance.now();
      const onHead = (): void => {
        const now = performance.now();
        member.answered();
        member.took(now - began, now);
        terms.onHead();
      };
      await member.connector(connectTimeoutMs, largeHead).send(exchange, { ...terms, onHead });
      return undefined;
    } catch (error) {
      if (error instanceof BodyTooLarge || error instanceof BodyTooSlow) return error;
      if (!(error instanceof UpstreamFailure)) throw error;
      if (!exchange.gone && error.status === undefined) {
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

/** Whether the body is read before an endpoint is contacted, so that a second endpoint can get it. */
const mayKeep = ({ request, method }: Exchange, retry: Retry | undefined): boolean =>
  (IDEMPOTENT.has(method) || retry?.anyMethod === true) &&
  retry?.tries !== 1 &&
  Number(request.headers['content-length'] ?? Number.NaN) <= MAX_KEPT_BODY_BYTES;

/** Headers for browsers of other sites win. */
function withHeaders(
  sites: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const names = new Set(Object.keys(sites).map((name) => name.toLowerCase()));
  const others = Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...Object.fromEntries(others), ...sites };
}
