import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { type ClientFacts, type ClientSettings, clientFacts, withPort } from '../../ingress/clients/index.ts';
import { requestHost } from '../../ingress/match/index.ts';
import type { HostRoutes, Route, RouteAction, Upstream } from '../../ingress/model.ts';

import { type FlatHeaders, headerOf } from './flat-headers.ts';

export type ClientRequest = IncomingMessage | Http2ServerRequest;
export type ClientResponse = ServerResponse | Http2ServerResponse;

/** A request to switch protocols, with the bytes that the client sent after its headers. */
export interface Upgrade {
  readonly protocol: string;
  readonly head: Buffer;
}

/** How a request has reached the listener. */
export interface Arrival {
  /** The address of the other end of the connection. */
  readonly peer: string;
  /** The address that the PROXY protocol reports. */
  readonly proxied: string | undefined;
  /** Over TLS. */
  readonly secure: boolean;
  /** Of the listener. */
  readonly port: number;
  readonly upgrade?: Upgrade | undefined;
}

/** One request of a client, with its response and what is recorded about it. */
export class Exchange {
  readonly request: ClientRequest;
  readonly response: ClientResponse;
  readonly upgrade: Upgrade | undefined;
  /** The request came over TLS. */
  readonly encrypted: boolean;
  /** As the client sent it; undefined if it sent none. */
  readonly host: string | undefined;
  /** The request target, unchanged: path and query. */
  readonly target: string;
  readonly method: string;
  readonly #arrival: Arrival;
  /** What is believed about the client. Before the route table is known: what the connection shows. */
  #facts: ClientFacts;
  readonly id: string;
  /** Monotonic time in milliseconds. */
  readonly began = performance.now();
  /** The route that matched, for metrics and log. */
  matched: { host: HostRoutes; name: string; route?: Route; action: RouteAction } | undefined;
  upstream: Upstream | undefined;
  /** What a policy of the route changes for the endpoint. Undefined: nothing. */
  changed: { readonly target: string; readonly prefix?: string } | undefined;
  /** The backend for errors gets the request, with these headers in addition. `method`: in place of that of the client, without its body. */
  error: { readonly headers: Readonly<Record<string, string>>; readonly method?: 'GET' | 'HEAD' } | undefined;
  /** Headers that policies of the route add to the response. They replace those of an endpoint. */
  added: Readonly<Record<string, string>> | undefined;
  /** The response depends on the header Origin. Caches must know that. */
  variesByOrigin = false;
  /** Headers that an endpoint gets in place of those of the client with these names, which are in lower case. */
  identity: { readonly names: ReadonlySet<string>; readonly headers: readonly string[] } | undefined;
  /** Headers about the certificate of the client. Endpoints and servers that authenticate clients get them. */
  certificateHeaders: readonly string[] | undefined;
  /** Cookies of the server that has authenticated the client. */
  authCookies: { readonly cookies: readonly string[]; readonly always: boolean } | undefined;
  /** A cookie that is added to those of the endpoint. */
  cookie: string | undefined;
  /** The client waits for the response 100 before it sends the body. */
  awaitsContinue = false;
  /** The endpoints that were tried, in this order. */
  readonly endpoints: string[] = [];
  /** Bytes of the response body, for the access log. */
  sentBytes = 0;
  /** The status of the response. 499, as in nginx: the client closed the connection before it got one. */
  status = 499;

  constructor(request: ClientRequest, response: ClientResponse, arrival: Arrival) {
    this.request = request;
    this.response = response;
    this.encrypted = arrival.secure;
    this.upgrade = arrival.upgrade;
    this.#arrival = arrival;
    this.host = hostHeader(request);
    this.target = request.url ?? '';
    this.method = request.method ?? 'GET';
    this.id = requestId(request.headers['x-request-id']);
    this.#facts = this.#factsBy(undefined);
  }

  /** Applies what the class says about clients. Call it once, before anything else looks at the client. */
  believe(settings: ClientSettings | undefined): void {
    if (settings !== undefined) this.#facts = this.#factsBy(settings);
  }

  #factsBy(settings: ClientSettings | undefined): ClientFacts {
    const { peer, proxied, secure, port } = this.#arrival;
    const header = (name: string): string | undefined => headerOf(this.request.rawHeaders, name);
    return clientFacts(settings, { peer, proxied, secure, port, header });
  }

  /** IP address of the client. */
  get client(): string {
    return this.#facts.client;
  }

  /** The client has used HTTPS, here or at a trusted proxy. */
  get secure(): boolean {
    return this.#facts.secure;
  }

  get scheme(): 'http' | 'https' {
    return this.secure ? 'https' : 'http';
  }

  /** Headers that describe the client to endpoints. */
  get forwarded(): FlatHeaders {
    const { client, forwardedFor, host = this.host ?? '', port } = this.#facts;
    return [
      ...['X-Real-IP', client, 'X-Forwarded-For', forwardedFor],
      ...(host === '' ? [] : ['X-Forwarded-Host', host]),
      ...['X-Forwarded-Port', String(port), 'X-Forwarded-Proto', this.scheme],
    ];
  }

  /** Where the client reaches the host over HTTPS. `name` is the host that was found. */
  secureAuthority(name: string): string {
    const { host, httpsPort } = this.#facts;
    return withPort((host === undefined ? undefined : requestHost(host)) ?? name, httpsPort);
  }

  /** Asks a client that waits for it to send the body. */
  askForBody(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.response.writeContinue();
  }

  /** Whether the client has closed the connection or the stream. */
  get gone(): boolean {
    const { response } = this;
    if ('stream' in response) return response.stream.destroyed;
    return response.destroyed || response.socket?.destroyed === true;
  }

  /** Whether a body follows the headers of the request. */
  get hasBody(): boolean {
    const { request } = this;
    if ('stream' in request) return !request.stream.endAfterHeaders;
    if (this.upgrade !== undefined) return false;
    return (
      request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
    );
  }
}

/**
 * A request with two different hosts could be routed by one and served by the other, so it is rejected. An empty host is
 * rejected too. Both are replaced by a name that is never valid.
 */
function hostHeader(request: ClientRequest): string | undefined {
  if ('stream' in request) {
    const { host, ':authority': authority } = request.headers;
    return authority !== undefined && host !== undefined && host !== authority
      ? INVALID_HOST
      : (authority ?? host);
  }
  const all = request.headersDistinct.host ?? [];
  return all.length > 1 || all[0] === '' ? INVALID_HOST : all[0];
}

const INVALID_HOST = ',';

const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;

/** A client may set its own request ID, if it has harmless characters only. */
const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && TOKEN.test(sent) ? sent : randomUUID().replaceAll('-', '');
