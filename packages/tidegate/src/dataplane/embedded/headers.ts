import type { Exchange } from './exchange.ts';

/** Names and values in turn, as they came: what Node calls raw headers. */
export type FlatHeaders = string[];

/** They belong to one connection, and the next one has its own. RFC 9110, 7.6.1. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** What this hop says itself. A client that says it too wants to be somebody else. `proxy` becomes HTTP_PROXY in CGI. */
const REPLACED = new Set([
  'expect',
  'trailer',
  'host',
  'forwarded',
  'proxy',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
]);

/** What goes on to an endpoint. */
export function requestHeaders(exchange: Exchange): FlatHeaders {
  const { request, host = '', client, hasBody } = exchange;
  const named = namedByConnection(request.headers.connection);
  const result: FlatHeaders = host === '' ? [] : ['Host', host];
  const cookies: string[] = [];
  eachHeader(request.rawHeaders, (name, value, lower) => {
    if (lower.startsWith(':') || HOP_BY_HOP.has(lower) || REPLACED.has(lower) || named.has(lower)) return;
    if (lower === 'content-length' && !hasBody) return;
    // HTTP/2 splits them, and HTTP/1.1 has but one.
    if (lower === 'cookie') cookies.push(value);
    else result.push(name, value);
  });
  if (cookies.length > 0) result.push('Cookie', cookies.join('; '));
  result.push('X-Request-Id', exchange.id);
  result.push('X-Real-IP', client, 'X-Forwarded-For', client);
  if (host !== '') result.push('X-Forwarded-Host', host);
  result.push('X-Forwarded-Port', String(exchange.port));
  result.push('X-Forwarded-Proto', exchange.secure ? 'https' : 'http');
  return result;
}

/** What goes back to the client of an endpoint's headers. Which server runs behind us is nobody's business. */
export function responseHeaders(raw: FlatHeaders): FlatHeaders {
  const result: FlatHeaders = ['Server', SERVER];
  const named = namedByConnection(headerOf(raw, 'connection'));
  eachHeader(raw, (name, value, lower) => {
    if (!HOP_BY_HOP.has(lower) && !named.has(lower) && lower !== 'server') result.push(name, value);
  });
  return result;
}

export const SERVER = 'tidegate';

/** For HTTP/2: names in lower case, each once. */
export function toObject(flat: FlatHeaders): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  eachHeader(flat, (_, value, lower) => {
    const before = result[lower];
    if (before === undefined) result[lower] = value;
    else if (!SAID_ONCE.has(lower)) result[lower] = [before, value].flat();
  });
  return result;
}

/** Where HTTP/1.1 servers say them twice, the first counts: Node's HTTP/2 throws. */
const SAID_ONCE = new Set([
  ...['access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method', 'age'],
  ...['authorization', 'content-encoding', 'content-language', 'content-length', 'content-location'],
  ...['content-md5', 'content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified'],
  ...['location', 'max-forwards', 'proxy-authorization', 'range', 'referer', 'retry-after', 'tk'],
  ...['upgrade-insecure-requests', 'user-agent', 'x-content-type-options'],
]);

/** Bytes are characters in the headers of HTTP/1.1, and leave as they came. */
export const toFlat = (raw: unknown): FlatHeaders =>
  Array.isArray(raw) ? raw.map((each: Buffer | string) => each.toString('latin1')) : [];

function eachHeader(flat: FlatHeaders, take: (name: string, value: string, lower: string) => void): void {
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = flat[at]!;
    take(name, flat[at + 1]!, name.toLowerCase());
  }
}

export function headerOf(flat: FlatHeaders, wanted: string): string | undefined {
  const all: string[] = [];
  eachHeader(flat, (_, value, lower) => {
    if (lower === wanted) all.push(value);
  });
  return all.length === 0 ? undefined : all.join(', ');
}

const NONE: ReadonlySet<string> = new Set();

function namedByConnection(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive') return NONE;
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}
