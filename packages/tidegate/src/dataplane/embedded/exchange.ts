import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { HostRoutes, RouteAction, Upstream } from '../../ingress/model.ts';

export type ClientRequest = IncomingMessage | Http2ServerRequest;
export type ClientResponse = ServerResponse | Http2ServerResponse;

/** A client that wants its connection to become something else, with what it has sent behind its request. */
export interface Upgrade {
  readonly protocol: string;
  readonly head: Buffer;
}

/** One request of a client, and what becomes of it. */
export class Exchange {
  readonly request: ClientRequest;
  readonly response: ClientResponse;
  readonly upgrade: Upgrade | undefined;
  readonly secure: boolean;
  readonly port: number;
  /** As it came; undefined when there is none. */
  readonly host: string | undefined;
  readonly target: string;
  readonly method: string;
  readonly client: string;
  readonly id: string;
  readonly began = performance.now();
  /** What it was found to be, for the log. */
  matched: { host: HostRoutes; action: RouteAction } | undefined;
  upstream: Upstream | undefined;
  /** Those that were tried, the last one answered. */
  readonly endpoints: string[] = [];
  sentBytes = 0;
  /** What the client was told. 499 as in nginx: it did not wait for it. */
  status = 499;

  constructor(
    request: ClientRequest,
    response: ClientResponse,
    { secure, port, upgrade }: { secure: boolean; port: number; upgrade?: Upgrade },
  ) {
    this.request = request;
    this.response = response;
    this.secure = secure;
    this.port = port;
    this.upgrade = upgrade;
    this.host = saidHost(request);
    this.target = request.url ?? '';
    this.method = request.method ?? 'GET';
    this.client = request.socket?.remoteAddress ?? '';
    this.id = requestId(request.headers['x-request-id']);
  }

  /** The client does not wait for an answer any more. */
  get gone(): boolean {
    const { response } = this;
    if ('stream' in response) return response.stream.destroyed;
    return response.destroyed || response.socket?.destroyed === true;
  }

  /** Something follows the head of the request. */
  get hasBody(): boolean {
    const { request } = this;
    if ('stream' in request) return !request.stream.endAfterHeaders;
    if (this.upgrade !== undefined) return false;
    return (
      request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
    );
  }
}

/** Whoever says two hosts means to be read differently by two readers, and an empty one is none: both are refused. */
function saidHost(request: ClientRequest): string | undefined {
  if ('stream' in request) {
    const { host, ':authority': authority } = request.headers;
    return authority !== undefined && host !== undefined && host !== authority
      ? NO_HOST
      : (authority ?? host);
  }
  const all = request.headersDistinct.host ?? [];
  return all.length > 1 || all[0] === '' ? NO_HOST : all[0];
}

const NO_HOST = ',';

const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;

/** A client may bring its own, if it is nothing but a name. */
const requestId = (said: string | string[] | undefined): string =>
  typeof said === 'string' && TOKEN.test(said) ? said : randomUUID().replaceAll('-', '');
