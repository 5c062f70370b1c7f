import type { Readable } from 'node:stream';
import type { Credential } from '@tidegate/kube';
import type { Dispatcher } from 'undici';
import type { FailoverContext } from './failover.ts';
import {
  forwardedRequestHeaders,
  forwardedResponseHeaders,
  type RequestHeaders,
  type ResponseHeaders,
} from './headers.ts';

/** The credentials of a forwarded request: those of the node, a token of the client, or none. */
export type UpstreamCredential = 'node' | { readonly token: string } | 'none';

export interface ForwardRequest {
  method: string;
  /** The path with the query, as the client sent it. */
  path: string;
  /**
   * The `headersDistinct` of the client's request. The Authorization header is dropped; only `credential`
   * authenticates the request.
   */
  headers: RequestHeaders;
  /** A stream is read as fast as the server accepts it. Only set it for requests that have a body. */
  body?: Buffer | Readable;
  credential: UpstreamCredential;
  /** Aborted when the client disconnects. Ends the request, or the response. */
  signal: AbortSignal;
}

export interface ForwardedAnswer {
  status: number;
  /** The headers of the server, without those of the connection. */
  headers: ResponseHeaders;
  /** Must be read to the end, or destroyed. Emits an error if the connection fails. */
  body: Readable;
  /** The URL of the server that has answered. */
  server: string;
}

/** Sends a request to one of the servers, and resolves when the headers of the response have arrived. */
export async function forward(
  dispatcher: Dispatcher,
  { authorization }: Credential,
  request: ForwardRequest,
): Promise<ForwardedAnswer> {
  const { method, path, body, signal } = request;
  const answer = await dispatcher.request({
    // A placeholder: FailoverExchange replaces it with the chosen server.
    origin: 'http://chosen-server.invalid',
    path,
    method,
    headers: {
      ...forwardedRequestHeaders(request.headers),
      ...contentLength(request),
      ...(authorization === undefined ? {} : { authorization }),
    },
    body,
    signal,
    // No timeouts: a watch can be idle, and a slow server can be healthy. HealthMonitor detects failed
    // servers.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    status: answer.statusCode,
    headers: forwardedResponseHeaders(answer.headers),
    body: answer.body,
    server: (answer.context as FailoverContext).server,
  };
}

/** A stream keeps the length that the client declared. Without one, the body is sent in chunks. */
function contentLength({ body, headers }: ForwardRequest): Record<string, string> {
  const length = headers['content-length']?.[0];
  return body === undefined || body instanceof Buffer || length === undefined
    ? {}
    : { 'content-length': length };
}
