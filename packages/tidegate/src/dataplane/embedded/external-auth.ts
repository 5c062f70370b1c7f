import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Logger } from '@tidegate/kube';
import { decide, match, type RouteTable } from '../../ingress/match/index.ts';
import type { Endpoint, Limits, RouteAction, Upstream, UpstreamId } from '../../ingress/model.ts';
import {
  type ExternalAuth,
  fillKey,
  fillUrl,
  keptSeconds,
  type UrlFacts,
} from '../../ingress/policy/index.ts';
import type { DriverOptions } from '../driver.ts';
import { endpointTls, nameSentTo } from '../endpoint-tls.ts';
import { MAX_TRIES, MOST_KEPT_AUTH_ANSWERS } from '../limits.ts';
import { isLoop, LOOP_HEADER, marked } from '../loops.ts';
import { askServer, type KeptConnections, keptConnections, type ServerAnswer } from './ask-server.ts';
import type { Denial } from './authenticate.ts';
import type { Exchange } from './exchange.ts';
import { eachHeader, type FlatHeaders, headerOf } from './flat-headers.ts';
import { clientHeaders } from './headers.ts';
import type { Members } from './members.ts';
import type { Upstreams } from './upstreams.ts';

/** Where a question goes. */
interface Server {
  readonly members: Members;
  readonly target: string;
  readonly host: string;
}

/** Asks servers about requests, as `external_auth.lua` does for nginx. */
export class ExternalAuthenticator {
  readonly #upstreams: Upstreams;
  readonly #defaults: DriverOptions['defaults'];
  readonly #mark: string;
  readonly #log: Logger;
  /** By upstream, then by settings: routes may have different ones. */
  readonly #connections = new Map<UpstreamId, Map<string, KeptConnections>>();
  /** The least recently used first. */
  readonly #answers = new Map<string, { answer: ServerAnswer; until: number }>();

  /** `mark` is that of requests that the router sends itself. */
  constructor(
    upstreams: Upstreams,
    deps: { defaults: DriverOptions['defaults']; mark: string; log: Logger },
  ) {
    this.#upstreams = upstreams;
    this.#defaults = deps.defaults;
    this.#mark = deps.mark;
    this.#log = deps.log;
  }

  /** Undefined if the server lets the client use the route. Then the exchange has the headers for the endpoint. */
  async check(auth: ExternalAuth, exchange: Exchange, table: RouteTable): Promise<Denial | undefined> {
    const { secure, target, host: authority = '', matched } = exchange;
    const facts = { secure, target, authority, name: matched?.name ?? '' };
    if (isLoop(headerOf(exchange.request.rawHeaders, LOOP_HEADER), this.#mark)) {
      this.#log.warn({ host: facts.name }, 'the server that authenticates clients leads back to this router');
      return { status: 508, headers: [] };
    }
    // The ConfigMap does not exist, or is not valid.
    if (auth.headers !== undefined && table.credentials.get(auth.headers) === undefined)
      return { status: 503, headers: [] };
    const key = auth.cache && keyOf(auth, exchange, facts);
    const answer = this.#recall(key) ?? (await this.#ask(auth, exchange, { table, facts, key }));
    if (answer === undefined) return { status: 500, headers: [] };
    const cookies = valuesOf(answer.headers, 'set-cookie');
    exchange.authCookies = { cookies, always: auth.alwaysSetsCookie === true };
    const { status } = answer;
    if (status >= 200 && status < 300) {
      exchange.identity = identityOf(auth, answer.headers);
      return undefined;
    }
    if (status === 401 && auth.signin !== undefined)
      return { status: 302, headers: ['Location', fillUrl(auth.signin, facts)] };
    if (status === 401)
      return {
        status,
        headers: valuesOf(answer.headers, 'www-authenticate').flatMap((each) => ['WWW-Authenticate', each]),
      };
    return { status: status === 403 ? 403 : 500, headers: [] };
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.forget([...this.#connections.keys()]);
  }

  /** Closes those to upstreams that do not exist any more. */
  forget(upstreams: readonly UpstreamId[]): void {
    for (const id of upstreams) {
      for (const { agent } of this.#connections.get(id)?.values() ?? []) agent.destroy();
      this.#connections.delete(id);
    }
  }

  async #ask(
    auth: ExternalAuth,
    exchange: Exchange,
    { table, facts, key }: { table: RouteTable; facts: UrlFacts; key: string | undefined },
  ): Promise<ServerAnswer | undefined> {
    const server = this.#serverOf(auth, exchange, table, facts);
    if (server === undefined || server.members.size === 0) return undefined;
    const limits: Limits = exchange.matched?.action.limits ?? {};
    const gone = new AbortController();
    const abort = (): void => gone.abort();
    exchange.response.once('close', abort);
    const { upstream } = server.members;
    const headers = auth.headers === undefined ? {} : (table.credentials.get(auth.headers)?.headers ?? {});
    const id = upstream.tls?.credentials;
    const pair = id === undefined ? undefined : table.credentials.get(id)?.client;
    if (id !== undefined && pair === undefined) return undefined;
    const question = {
      method: auth.method ?? 'GET',
      target: server.target,
      headers: questionHeaders(auth, exchange, { host: server.host, facts, mark: this.#mark, headers }),
      servername: upstream.protocol === 'https' ? serverNameOf(upstream, auth) : undefined,
      ...(upstream.tls && { servername: nameSentTo(upstream) ?? '', tls: endpointTls(upstream, pair) }),
      connectTimeoutMs: limits.connectTimeoutMs ?? this.#defaults.connectTimeoutMs,
      readTimeoutMs: limits.readTimeoutMs ?? this.#defaults.readTimeoutMs,
      signal: gone.signal,
    };
    try {
      for (const endpoint of endpointsOf(server.members)) {
        try {
          const answer = await askServer({ ...question, ...endpoint }, this.#keptOf(auth, upstream));
          if (key !== undefined) this.#remember(auth, key, answer);
          return answer;
        } catch (error) {
          if (exchange.gone) return undefined;
          const where = `${endpoint.address}:${endpoint.port}`;
          this.#log.warn(
            { server: where, upstream: upstream.id, requestId: exchange.id, err: error },
            'a server that authenticates clients did not answer',
          );
        }
      }
      return undefined;
    } finally {
      exchange.response.off('close', abort);
    }
  }

  /** Undefined if there is none: nothing is served then. */
  #serverOf(auth: ExternalAuth, exchange: Exchange, table: RouteTable, facts: UrlFacts): Server | undefined {
    const target = fillUrl(auth.target, facts);
    if (auth.upstream !== undefined) {
      const members = this.#upstreams.get(auth.upstream);
      return members && { members, target, host: auth.host };
    }
    const { headers } = exchange.request;
    const found = match(table, { host: exchange.host, path: target, headers, secure: auth.secure });
    if (found.kind !== 'route') return undefined;
    const { action, route } = found;
    const sent = rewriteOnly({ action, ...(route && { route }) }, { ...facts, target, path: found.path });
    const members = this.#upstreams.choose(action.backends.slice(0, 1), headers);
    if (sent === undefined || members === undefined || members.upstream.protocol === 'grpc') return undefined;
    return { members, target: sent, host: action.policy?.vhost ?? facts.authority };
  }

  #keptOf({ keepalive }: ExternalAuth, { id, protocol }: Upstream): KeptConnections | undefined {
    if (keepalive === undefined) return undefined;
    const own = this.#connections.get(id) ?? new Map<string, KeptConnections>();
    this.#connections.set(id, own);
    const key = JSON.stringify([protocol, keepalive]);
    const kept = own.get(key) ?? keptConnections(keepalive, protocol === 'https');
    own.set(key, kept);
    return kept;
  }

  #recall(key: string | undefined): ServerAnswer | undefined {
    const known = key === undefined ? undefined : this.#answers.get(key);
    if (key === undefined || known === undefined) return undefined;
    this.#answers.delete(key);
    if (known.until <= performance.now()) return undefined;
    this.#answers.set(key, known);
    return known.answer;
  }

  #remember({ cache, responseHeaders }: ExternalAuth, key: string, answer: ServerAnswer): void {
    const { status, headers } = answer;
    const header = (name: string): string | undefined => headerOf(headers, name);
    const seconds = cache === undefined ? 0 : keptSeconds(cache, { status, header });
    if (seconds === 0) return;
    const needed = new Set(['www-authenticate', ...responseHeaders.map((name) => name.toLowerCase())]);
    const kept: FlatHeaders = [];
    eachHeader(headers, (name, value, lower) => {
      if (needed.has(lower)) kept.push(name, value);
    });
    this.#answers.set(key, {
      answer: { status, headers: kept },
      until: performance.now() + seconds * 1000,
    });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MOST_KEPT_AUTH_ANSWERS && oldest !== undefined) this.#answers.delete(oldest);
  }
}

/** Endpoints that are not in back-off, and not more than for other requests. */
function* endpointsOf(members: Members): Generator<Endpoint> {
  const tried = new Set<ReturnType<Members['all']>[number]>();
  while (tried.size < Math.min(MAX_TRIES, members.size)) {
    const member = members.pick(tried, performance.now());
    if (member === undefined) return;
    tried.add(member);
    yield member.endpoint;
  }
}

/** Of the policies of the route that is asked, only its rewrite applies. */
function rewriteOnly(
  found: Parameters<typeof decide>[0],
  facts: UrlFacts & { path: string },
): string | undefined {
  const { policy, ...action }: RouteAction = found.action;
  const { rewrite } = policy ?? {};
  const decision = decide(
    { ...found, action: { ...action, ...(rewrite && { policy: { rewrite } }) } },
    { ...facts, client: '' },
  );
  return decision.kind === 'forward' ? decision.target : undefined;
}

const serverNameOf = ({ service, namespace }: Upstream, { upstream }: ExternalAuth): string => {
  if (upstream === undefined) return `${service}.${namespace}.svc`;
  return isIP(service) === 0 ? service : '';
};

/** The headers of the client, and those with which ingress-nginx describes the request. */
function questionHeaders(
  auth: ExternalAuth,
  exchange: Exchange,
  {
    host,
    facts,
    mark,
    headers,
  }: { host: string; facts: UrlFacts; mark: string; headers: Readonly<Record<string, string>> },
): FlatHeaders {
  const set = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const result: FlatHeaders = ['Host', host];
  eachHeader(clientHeaders(exchange), (name, value, lower) => {
    if (lower !== 'content-length' && !OWN.has(lower) && !set.has(lower)) result.push(name, value);
  });
  result.push(LOOP_HEADER, marked(headerOf(exchange.request.rawHeaders, LOOP_HEADER), mark));
  const { scheme } = exchange;
  if (auth.method !== undefined) result.push('X-Original-URI', exchange.target, 'X-Scheme', scheme);
  result.push('X-Original-URL', `${scheme}://${facts.authority}${exchange.target}`);
  result.push('X-Original-Method', exchange.method, 'X-Sent-From', 'nginx-ingress-controller');
  result.push('X-Real-IP', exchange.client, 'X-Forwarded-For', exchange.client);
  result.push(
    'X-Auth-Request-Redirect',
    auth.redirect === undefined ? exchange.target : fillUrl(auth.redirect, facts),
  );
  result.push('X-Request-Id', exchange.id, ...Object.entries(headers).flat());
  return result;
}

const OWN = new Set(['x-auth-request-redirect', 'x-sent-from', LOOP_HEADER]);

function identityOf({ responseHeaders }: ExternalAuth, headers: FlatHeaders): Exchange['identity'] {
  return {
    names: new Set(responseHeaders.map((name) => name.toLowerCase())),
    headers: responseHeaders.flatMap((name) => {
      const value = headerOf(headers, name.toLowerCase());
      return value === undefined || value === '' ? [] : [name, value];
    }),
  };
}

function valuesOf(headers: FlatHeaders, wanted: string): string[] {
  const all: string[] = [];
  eachHeader(headers, (_, value, lower) => {
    if (lower === wanted) all.push(value);
  });
  return all;
}

/** Equal for requests that get the same answer: of the same path of the same Ingress and host, with the same key. */
function keyOf(auth: ExternalAuth, exchange: Exchange, facts: UrlFacts): string {
  const { matched, request, secure, client, method, target } = exchange;
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  const parts = (auth.cache?.key ?? []).map((part) =>
    fillKey([part], { host: facts.name, target, secure, client, method, header }),
  );
  const route = [matched?.action.policy?.zone, matched?.host.host, matched?.route?.path];
  const about = [auth.upstream, auth.host, auth.method, fillUrl(auth.target, facts)];
  return createHash('sha256')
    .update(JSON.stringify([...route, ...about, ...parts]))
    .digest('base64');
}
