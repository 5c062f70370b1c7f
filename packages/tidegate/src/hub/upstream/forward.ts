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

/** On whose behalf a request goes on: the node itself, whoever holds the token, or nobody. */
export type UpstreamCredential = 'node' | { readonly token: string } | 'none';

export interface ForwardRequest {
  method: string;
  /** With the query, as the client wrote it. */
  path: string;
  /** The `headersDistinct` of the client's request; who asks is said by `credential` alone. */
  headers: RequestHeaders;
  /** A stream is taken up as fast as the server reads it. The request is its body only where there is one to send. */
  body?: Buffer | Readable;
  credential: UpstreamCredential;
  /** Aborted when the client is gone: ends the request, or the answer. */
  signal: AbortSignal;
}

export interface ForwardedAnswer {
  status: number;
  /** Without those of the connection; the rest as the server sent them. */
  headers: ResponseHeaders;
  /** To be read to its end, or destroyed. Fails when the connection breaks. */
  body: Readable;
  /** The URL of the server that has answered. */
  server: string;
}

export async function forward(
  dispatcher: Dispatcher,
  { authorization }: Credential,
  request: ForwardRequest,
): Promise<ForwardedAnswer> {
  const { method, path, body, signal } = request;
  const answer = await dispatcher.request({
    origin: 'http://the-server-that-is-chosen',
    path,
    method,
    headers: {
      ...forwardedRequestHeaders(request.headers),
      ...contentLength(request),
      ...(authorization === undefined ? {} : { authorization }),
    },
    body,
    signal,
    // A watch is quiet, and a slow server is not a dead one: health is watched elsewhere.
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

/** A stream whose length the client has told keeps it; others are sent in chunks. */
function contentLength({ body, headers }: ForwardRequest): Record<string, string> {
  const length = headers['content-length']?.[0];
  return body === undefined || body instanceof Buffer || length === undefined
    ? {}
    : { 'content-length': length };
}
