import type { Route } from '../model.ts';

/** Spaces, control characters and fragments have no place in a request line; nor has a % that encodes nothing. */
const SENT = /^\/(?:[^\0-\x20#%\x7f]|%(?!00)[0-9a-f]{2})*$/i;
/** What is beyond ASCII comes percent-encoded, and has to be written so. */
const WRITTEN = /^[\x21-\x7e]+$/;
/**
 * `.` and `..` between slashes, also before a `;`, where some servers begin their own parameters. Written in any way
 * that a backend may read as such: it could lead there to another route than the one that was matched here.
 */
const DOT_SEGMENT = /(?:\/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|\/|\\|%2f|%5c|$)/i;

/**
 * The path of a request target, byte for byte as the client wrote it: nothing is decoded, merged or changed, only the
 * query is cut off. Undefined: the answer is 400.
 */
export function requestPath(target: string): string | undefined {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  return SENT.test(path) && !DOT_SEGMENT.test(path) ? path : undefined;
}

/** What somebody wrote for a path in an object, as tables spell it; undefined when no request could ever match it. */
export function writtenPath(written: string, match: Route['match']): string | undefined {
  const path = written === '' ? '/' : written;
  if (!WRITTEN.test(path) || requestPath(path) !== path) return undefined;
  if (match === 'Exact') return path;
  return path.replace(/\/+$/, '') || '/';
}

/** Prefixes count by whole elements: `/a` is one of `/a` and `/a/b`, and none of `/ab`. */
export function matchesPath({ path: wanted, match }: Pick<Route, 'path' | 'match'>, path: string): boolean {
  if (match === 'Exact' || path.length === wanted.length) return path === wanted;
  return wanted === '/' || (path.startsWith(wanted) && path.charCodeAt(wanted.length) === SLASH);
}

const SLASH = 0x2f;

/** The order in which routes of a host are tried. Those that are equal in it stay as they come: the oldest first. */
export function comparePrecedence(a: Route, b: Route): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  if (a.match !== b.match) return a.match === 'Exact' ? -1 : 1;
  return b.headers.length - a.headers.length;
}
