import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { DiskError } from '@tidegate/disk';
import { ownField } from '@tidegate/kube';
import {
  ApiError,
  Exchange,
  insufficientStorage,
  internalError,
  methodNotAllowed,
  negotiate,
  type RequestInfo,
  requestInfo,
  requestTarget,
} from '@tidegate/serving';
import type { Authenticator } from '../auth/authenticate.ts';
import { type Attributes, type Authorizer, requireAllowed } from '../auth/authorization.ts';
import { impersonate } from '../auth/impersonate.ts';
import type { Core } from '../operations/core.ts';
import type { UserInfo } from '../resources/types.ts';
import type { Call } from './call.ts';
import { serveDelete, serveDeleteCollection } from './delete.ts';
import type { Documents } from './documents.ts';
import { serveList } from './list.ts';
import { servePatch } from './patch.ts';
import { errorFormat, representationOf } from './representation.ts';
import { sendObject } from './send.ts';
import { serveSubresource } from './subresource.ts';
import { serveWatch } from './watch.ts';
import { serveCreate, serveGet, serveUpdate } from './write.ts';

/** Describes a completed request, for metrics and for the audit log. */
export interface RequestRecord {
  info: RequestInfo;
  user: UserInfo | undefined;
  code: number;
  seconds: number;
}

export interface HandlerOptions {
  core: Core;
  authenticator: Authenticator;
  authorizer: Authorizer;
  documents: Documents;
  /** Aborted when the server stops, to end long-running requests. */
  signal: AbortSignal;
  onRequest(record: RequestRecord): void;
  onError(error: unknown, info: RequestInfo): void;
}

const NOT_FOUND = '404 page not found\n';

/** Authenticates, authorizes, finds the resource and calls the verb. Every error is sent as a Status. */
export function createHandler(
  options: HandlerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const started = performance.now();
    const exchange = new Exchange(request, response);
    const { url = '/', method = 'GET' } = request;
    // What it is until the target is parsed, and what it stays if it cannot be.
    let info: RequestInfo = { type: 'path', verb: method.toLowerCase(), path: url };
    let user: UserInfo | undefined;
    const work = async (): Promise<void> => {
      const target = requestTarget(url);
      info = requestInfo(method, target);
      user = identify(options, request, info);
      await dispatch(options, exchange, info, target.searchParams, user);
    };
    work()
      .catch((error: unknown) => fail(options, exchange, info, error))
      .finally(() => {
        const seconds = (performance.now() - started) / 1000;
        options.onRequest({ info, user, code: response.statusCode, seconds });
      })
      .catch((error: unknown) => options.onError(error, info));
  };
}

/**
 * Authentication, impersonation and authorization, in this order. Returns the user on whose behalf the request acts.
 */
function identify(options: HandlerOptions, request: IncomingMessage, info: RequestInfo): UserInfo {
  const { authenticator, authorizer } = options;
  const requestor = authenticator.authenticate(request.socket as TLSSocket, request.headers);
  const attributes = attributesOf(info);
  const user = impersonate(request, requestor, attributes, authorizer);
  requireAllowed(authorizer, user, attributes);
  return user;
}

function attributesOf(info: RequestInfo): Attributes {
  if (info.type === 'path') return { verb: info.verb, path: info.path };
  const { verb, group, resource, subresource, namespace, name, fields } = info;
  return { verb, group, resource, subresource, namespace, name, fields };
}

async function dispatch(
  options: HandlerOptions,
  exchange: Exchange,
  info: RequestInfo,
  query: URLSearchParams,
  user: UserInfo,
): Promise<void> {
  const { core } = options;
  if (info.type === 'path') {
    const document = options.documents.find(info.path);
    if (document === undefined) return exchange.text(404, NOT_FOUND);
    const representation = lenientNegotiate(exchange.request.headers.accept);
    return document({ path: info.path, query, representation, exchange });
  }
  const served = core.registry.lookup(info.group, info.version, info.resource);
  if (served === undefined) return exchange.text(404, NOT_FOUND);
  if (served.version.deprecationWarning !== undefined) exchange.warn(served.version.deprecationWarning);
  const { accept } = exchange.request.headers;
  // Streaming subresources write the response themselves.
  const streams = ownField(served.definition.subresources, info.subresource)?.connect !== undefined;
  const representation = streams ? lenientNegotiate(accept) : representationOf(accept, served, info);
  await serve({ core, info, served, query, representation, user, exchange, signal: options.signal });
}

/** Health checks and metrics are always plain text, whatever the client accepts. */
function lenientNegotiate(accept: string | undefined): ReturnType<typeof negotiate> {
  try {
    return negotiate(accept);
  } catch {
    return { format: 'json' };
  }
}

function serve(call: Call): Promise<void> {
  const { core, info, served, query, representation, exchange } = call;
  if (info.subresource !== '') return serveSubresource(call);
  const toName = info.verb === 'create' && info.name !== '';
  if (toName || !served.definition.verbs.includes(info.verb)) throw methodNotAllowed();
  const list = { served, namespace: info.namespace, query, representation };
  switch (info.verb) {
    case 'get':
      return serveGet(call);
    case 'list':
      return serveList(core.store, list, exchange, core.now());
    case 'watch':
      return serveWatch(core.store, list, exchange, call.signal);
    case 'create':
      return serveCreate(call);
    case 'update':
      return serveUpdate(call);
    case 'patch':
      return servePatch(call);
    case 'delete':
      return serveDelete(call);
    case 'deletecollection':
      return serveDeleteCollection(call);
  }
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const isFull = error instanceof DiskError && error.code === 'full';
  return isFull ? insufficientStorage(`nothing was changed: ${error.message}`, error) : internalError(error);
}

async function fail(
  options: HandlerOptions,
  exchange: Exchange,
  info: RequestInfo,
  error: unknown,
): Promise<void> {
  // The store logs the failures of its disk itself, once and not for every request.
  if (!(error instanceof ApiError || error instanceof DiskError)) options.onError(error, info);
  const { status } = apiErrorOf(error);
  if (exchange.response.headersSent) {
    // Part of the response is sent already, so closing the connection is the only way to report the error.
    exchange.response.destroy();
    return;
  }
  // The rest of the body must be read. Otherwise it would be taken for the next request.
  exchange.request.resume();
  const retry = status.details?.retryAfterSeconds;
  if (retry !== undefined) exchange.response.setHeader('Retry-After', String(retry));
  await sendObject(exchange, status.code, status, errorFormat(exchange.request.headers.accept));
}
