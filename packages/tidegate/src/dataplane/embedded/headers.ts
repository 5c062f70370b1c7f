import { isProxyHeader } from '../../ingress/client-headers.ts';
import { rewriteResponse, type UrlFacts } from '../../ingress/policy/index.ts';
import { SERVER } from '../answers.ts';
import type { Exchange } from './exchange.ts';
import { eachHeader, type FlatHeaders, headerOf } from './flat-headers.ts';

/** Headers that are valid for one connection only and are not forwarded (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/**
 * Endpoints with CGI or WSGI replace other characters by underscores, and would take `X_Real_IP` or `X.Real.IP` for the
 * header that the router sets. nginx discards such names too.
 */
const PLAIN_NAME = /^[A-Za-z0-9-]+$/;

/** Headers that the router sets itself or that concern it only, besides those that only proxies may set. */
const REPLACED = new Set(['expect', 'trailer', 'host', 'x-request-id']);

/** The headers that are sent to an endpoint. */
export function requestHeaders(exchange: Exchange): FlatHeaders {
  const { host = '', hasBody, identity } = exchange;
  const sentHost = exchange.matched?.action.policy?.vhost ?? host;
  const result: FlatHeaders = sentHost === '' ? [] : ['Host', sentHost];
  const errorNames =
    exchange.error && new Set(Object.keys(exchange.error.headers).map((name) => name.toLowerCase()));
  const hidesAuthorization = exchange.matched?.action.policy?.basic !== undefined;
  eachHeader(clientHeaders(exchange), (name, value, lower) => {
    // The router has used it. As with ingress-nginx, the endpoint does not get the password.
    if (lower === 'authorization' && hidesAuthorization) return;
    if (identity?.names.has(lower) || errorNames?.has(lower)) return;
    if (lower === 'content-length' && (!hasBody || exchange.error?.method !== undefined)) return;
    result.push(name, value);
  });
  if (identity !== undefined) result.push(...identity.headers);
  if (exchange.error !== undefined) result.push(...Object.entries(exchange.error.headers).flat());
  result.push('X-Request-Id', exchange.id, ...exchange.forwarded);
  const prefix = exchange.changed?.prefix;
  if (prefix !== undefined && prefix !== '') result.push('X-Forwarded-Prefix', prefix);
  return result;
}

/**
 * The headers of the client that are forwarded, without those that belong to its connection or that only proxies may set,
 * and those about its certificate.
 */
export function clientHeaders({ request, certificateHeaders = [] }: Exchange): FlatHeaders {
  const named = namedByConnection(request.headers.connection);
  const result: FlatHeaders = [];
  const cookies: string[] = [];
  eachHeader(request.rawHeaders, (name, value, lower) => {
    if (!PLAIN_NAME.test(name) || HOP_BY_HOP.has(lower) || REPLACED.has(lower) || named.has(lower)) return;
    if (isProxyHeader(lower)) return;
    // HTTP/2 may split the cookies into several headers; HTTP/1.1 requires a single one.
    if (lower === 'cookie') cookies.push(value);
    else result.push(name, value);
  });
  if (cookies.length > 0) result.push('Cookie', cookies.join('; '));
  result.push(...certificateHeaders);
  return result;
}

/** The headers of an endpoint that are sent to the client. They do not reveal which server runs behind the router. */
export function responseHeaders(raw: FlatHeaders, exchange?: Exchange): FlatHeaders {
  const result: FlatHeaders = ['Server', SERVER];
  const named = namedByConnection(headerOf(raw, 'connection'));
  const own = exchange?.matched?.action.policy?.responses;
  eachHeader(raw, (name, value, lower) => {
    if (HOP_BY_HOP.has(lower) || named.has(lower) || DISCARDED.has(lower)) return;
    result.push(name, own === undefined ? value : rewriteResponse(own, lower, value, factsOf(exchange)));
  });
  return result;
}

const factsOf = (exchange: Exchange | undefined): UrlFacts => ({
  secure: exchange?.secure === true,
  name: exchange?.matched?.name ?? '',
  authority: exchange?.host ?? '',
  target: exchange?.target ?? '',
});

/** The router has its own value for `server`, and forwards trailers only for gRPC, where they need no announcement. */
const DISCARDED = new Set(['server', 'trailer']);

/** The headers with others in place of those with the same names. */
export function withAdded(flat: FlatHeaders, added: Readonly<Record<string, string>>): FlatHeaders {
  const names = new Set(Object.keys(added).map((name) => name.toLowerCase()));
  const result: FlatHeaders = [];
  eachHeader(flat, (name, value, lower) => {
    if (!names.has(lower)) result.push(name, value);
  });
  return [...result, ...Object.entries(added).flat()];
}

/** The headers with Origin among those that the response depends on. */
export function withVary(flat: FlatHeaders): FlatHeaders {
  const before = headerOf(flat, 'vary') ?? '';
  if (/(?:^|,)[ \t]*(?:origin|\*)[ \t]*(?:,|$)/i.test(before)) return flat;
  return withAdded(flat, { Vary: before === '' ? 'Origin' : `${before}, Origin` });
}

/** For HTTP/2, which requires names in lower case. */
export function toObject(flat: FlatHeaders): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  eachHeader(flat, (_, value, lower) => {
    const before = result[lower];
    if (before === undefined) result[lower] = value;
    else if (!SINGLE.has(lower)) result[lower] = [before, value].flat();
  });
  return result;
}

/** Node.js refuses to send these twice over HTTP/2. If an HTTP/1.1 server does, the first value is used. */
const SINGLE = new Set([
  ...['access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method', 'age'],
  ...['authorization', 'content-encoding', 'content-language', 'content-length', 'content-location'],
  ...['content-md5', 'content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified'],
  ...['location', 'max-forwards', 'proxy-authorization', 'range', 'referer', 'retry-after', 'tk'],
  ...['upgrade-insecure-requests', 'user-agent', 'x-content-type-options'],
]);

/** Decodes header bytes one to one, so that they leave as they arrived. */
export const toFlat = (raw: unknown): FlatHeaders =>
  Array.isArray(raw) ? raw.map((each: Buffer | string) => each.toString('latin1')) : [];

/** For HTTP/1.1, as the lines of a message head. */
export function toLines(flat: FlatHeaders): string {
  let lines = '';
  for (let at = 0; at + 1 < flat.length; at += 2) lines += `${flat[at]}: ${flat[at + 1]}\r\n`;
  return lines;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Headers that the Connection header lists. They belong to the connection and are not forwarded (RFC 9110, 7.6.1).
 */
export function namedByConnection(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive') return NONE;
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

/** A header that the client does not withdraw with the header Connection. nginx removes such headers. */
export const ownHeader = (
  { headers }: Exchange['request'],
  name: 'origin' | 'authorization',
): string | undefined => (namedByConnection(headers.connection).has(name) ? undefined : headers[name]);

/** Whether a header that may be sent once was sent several times. Of some, Node.js keeps only the first. */
export function isRepeated({ rawHeaders }: Exchange['request'], wanted: string): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.toLowerCase() === wanted && ++count > 1) return true;
  return false;
}
