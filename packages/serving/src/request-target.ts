/**
 * The one parser of request targets (RFC 9112, section 3.2). A proxy must understand a path exactly as the API server
 * behind it does: otherwise it authorizes, filters or stores one thing while the API server answers another. So only what
 * every parser understands in the same way is accepted, and everything else is refused with 400.
 *
 * The result is the only form of the path that exists after this point: routing, cache keys and forwarding use it alike.
 */
import { badRequest } from './api-error.ts';

/** A target in origin form. Has the fields of a URL that `requestInfo` reads. */
export interface RequestTarget {
  /**
   * The path in canonical form: equal paths have equal texts. It has no empty segments, no dot segments and no encoded
   * slashes, except behind `proxy`, where the path belongs to another server and is kept as the client sent it.
   */
  readonly pathname: string;
  readonly searchParams: URLSearchParams;
  /** `pathname` and the query as the client sent it: what is forwarded. */
  readonly text: string;
}

/** The characters of a segment (RFC 3986, `pchar`), without `;`: some servers cut a segment off there. */
const SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()*+,=:@]|%[0-9A-Fa-f]{2})*$/;
/** The same for what belongs to the server behind a proxy: `;`, empty segments and encoded slashes are its business. */
const FOREIGN_PATH = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;
/** The characters of a query. Quotes, brackets and so on are not allowed by the RFC, but clients send them unencoded. */
const QUERY = /^(?:[!"$&-;<-[\]^_`a-z{|}~]|%[0-9A-Fa-f]{2})*$/;
/** A decoded segment: no slash and no percent sign, which no name contains, no backslash, no control characters. */
const FORBIDDEN_IN_NAME = /[\p{Cc}/\\%]/u;

/** The options of reads. Given twice, one server may use the first value and another the last. */
const READ_OPTIONS = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];

/** Parses the target of a request. Throws 400 and names the reason for everything that is not a plain path and query. */
export function requestTarget(target: string): RequestTarget {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  if (!path.startsWith('/'))
    throw refusal('it must be a path that begins with a slash, without scheme and host');
  const segments = path.slice(1).split('/');
  const at = proxyAt(segments);
  const own = at < 0 ? segments : segments.slice(0, at);
  const foreign = at < 0 ? [] : segments.slice(at);
  const pathname = `/${[...canonical(own, at < 0), ...checkForeign(foreign)].join('/')}`;
  return {
    pathname,
    searchParams: parseQuery(query, at < 0),
    text: mark < 0 ? pathname : `${pathname}?${query}`,
  };
}

/**
 * Where the path of another server begins: behind the subresource `proxy` of a pod, service or node. -1 if it does not.
 * Compares raw segments: an encoded `proxy` is understood as the name of a subresource, and what follows it is refused
 * if it is not a plain path.
 */
function proxyAt(segments: readonly string[]): number {
  const [api, version, ...rest] = segments;
  if (api !== 'api' || version !== 'v1') return -1;
  const before = rest[0] === 'namespaces' ? 2 : 0;
  const [resource = '', , subresource] = rest.slice(before);
  const has = before === 0 ? resource === 'nodes' : resource === 'pods' || resource === 'services';
  return has && subresource === 'proxy' ? 2 + before + 3 : -1;
}

/** Decodes and encodes each segment. Only the last one of a path may be empty: some paths end with a slash. */
function canonical(segments: readonly string[], isWhole: boolean): string[] {
  const trailing = isWhole && segments.at(-1) === '';
  const named = trailing ? segments.slice(0, -1) : segments;
  return [...named.map(canonicalSegment), ...(trailing ? [''] : [])];
}

function canonicalSegment(segment: string): string {
  if (segment === '') throw refusal('it contains an empty path segment');
  if (!SEGMENT.test(segment))
    throw refusal(
      `the path segment ${JSON.stringify(segment)} contains characters that must be percent-encoded, or an invalid percent encoding`,
    );
  const name = decode(segment);
  if (name === '.' || name === '..') throw refusal('it contains a dot segment');
  if (FORBIDDEN_IN_NAME.test(name))
    throw refusal(
      `the path segment ${JSON.stringify(segment)} contains an encoded slash, backslash, percent sign or control character`,
    );
  return encodeURIComponent(name).replace(/%(?:3A|40|24|26|2B|2C|3D)/g, decodeURIComponent);
}

function checkForeign(segments: readonly string[]): readonly string[] {
  const path = segments.join('/');
  if (!FOREIGN_PATH.test(path))
    throw refusal(
      'the path behind proxy contains characters that must be percent-encoded, or an invalid percent encoding',
    );
  // Encoded slashes and backslashes separate segments for some servers, so `a%2f..%2fb` contains a dot segment too.
  const parts = path
    .replaceAll(/%2f|%5c/gi, '/')
    .replaceAll(/%2e/gi, '.')
    .split('/');
  if (parts.some((part) => /^\.\.?(?:;|$)/.test(part)))
    throw refusal('the path behind proxy contains a dot segment');
  return segments;
}

/** Go ignores parameters with a semicolon or an invalid encoding, and JavaScript does not, so both are refused. */
function parseQuery(query: string, isOwn: boolean): URLSearchParams {
  if (!QUERY.test(query))
    throw refusal(
      'the query contains characters that must be percent-encoded, or an invalid percent encoding',
    );
  if (isOwn && query.includes(';')) throw refusal('the query contains a semicolon; encode it as %3B');
  const parameters = new URLSearchParams(query);
  if (!isOwn) return parameters;
  for (const text of query.split('&')) decode(text);
  for (const name of READ_OPTIONS)
    if (parameters.getAll(name).length > 1) throw refusal(`the query contains ${name} more than once`);
  return parameters;
}

/** JavaScript and Go replace invalid UTF-8 in different ways. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal(`${JSON.stringify(text)} is not valid UTF-8 when decoded`);
  }
}

const refusal = (why: string) => badRequest(`the request target is not valid: ${why}`);
