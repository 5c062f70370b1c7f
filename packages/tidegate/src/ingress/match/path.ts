import type { Route } from '../model.ts';
import { runPattern, type Steps } from '../regex/index.ts';

/** Clients percent-encode other characters, and do not send the fragment. Holds for the query too. */
const VALID_TARGET = /^[\x21\x22\x24-\x7e]+$/;
/** No incomplete percent-encoding, and no encoded NUL. */
const VALID_PATH = /^\/(?:[^%]|%(?!00)[0-9a-f]{2})*$/i;
/**
 * `.` or `..` as a path segment, in any encoding that a backend may decode: percent-encoded, with backslashes, or
 * followed by a `;` (path parameters of some servers). A backend could resolve such a path to another one than the path
 * that was matched, and so bypass the routes. Such requests are rejected.
 */
export const DOT_SEGMENT = /(?:\/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|\/|\\|%2f|%5c|$)/i;

/**
 * Returns the path of a request target, without the query. The path is used byte for byte as the client sent it:
 * nothing is decoded or merged, so that router and backend see the same path. Returns undefined if the path is invalid;
 * the response is 400 then.
 */
export function requestPath(target: string): string | undefined {
  if (!VALID_TARGET.test(target)) return undefined;
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  return VALID_PATH.test(path) && !DOT_SEGMENT.test(path) ? path : undefined;
}

/** Normalizes a path that a user wrote in an object. Returns undefined if no request can have this path. */
export function writtenPath(written: string, match: 'Exact' | 'Prefix'): string | undefined {
  const path = written === '' ? '/' : written;
  if (requestPath(path) !== path) return undefined;
  if (match === 'Exact') return path;
  // A regular expression for this would look at the rest of the path again for each of its slashes.
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === SLASH) end--;
  return path.slice(0, end);
}

/**
 * The path as most servers read it: decoded, and without empty segments. Hosts with restrictions use it to find the route,
 * so that another spelling of a path does not bypass them. Characters are bytes.
 */
export function decodedPath(path: string): string {
  if (!path.includes('%') && !path.includes('//')) return path;
  return path
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\/\/+/g, '/');
}

/** Encodes bytes of a decoded path that are not allowed in a path, or that mean something else there. */
export const encodePath = (decoded: string): string =>
  decoded.replace(
    /[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

/** Whether the path of a target has an encoded control character. */
export const hasControl = (target: string): boolean => /^[^?]*%(?:[01][0-9a-f]|7f)/i.test(target);

/** A Prefix matches whole path elements: `/a` matches `/a` and `/a/b`, but not `/ab`. */
export function matchesPath(
  { path: wanted, match, pattern }: Pick<Route, 'path' | 'match' | 'pattern'>,
  path: string,
  steps?: Steps,
): boolean {
  if (match === 'Regex') return pattern !== undefined && runPattern(pattern, path, steps) !== undefined;
  if (match === 'Exact' || path.length === wanted.length) return path === wanted;
  return wanted === '/' || (path.startsWith(wanted) && path.charCodeAt(wanted.length) === SLASH);
}

const SLASH = 0x2f;

const KINDS: readonly Route['match'][] = ['Exact', 'Prefix', 'Regex'];

/**
 * Order in which the routes of a host are tried: longer paths first, then Exact, then more headers. nginx has the same order
 * for regular expressions: the longer text first. Use it with a stable sort: equal routes stay in order of age.
 */
export function comparePrecedence(a: Route, b: Route): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  if (a.match !== b.match) return KINDS.indexOf(a.match) - KINDS.indexOf(b.match);
  // As in ingress-nginx, so that the order of two expressions does not depend on age.
  if (a.match === 'Regex' && a.path !== b.path) return a.path > b.path ? -1 : 1;
  return b.headers.length - a.headers.length;
}
