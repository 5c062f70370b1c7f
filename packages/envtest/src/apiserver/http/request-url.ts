import type { IncomingMessage } from 'node:http';

const ORIGIN = 'https://kubernetes';

/**
 * The URL of a request. Whatever the client sends is a path on this server: a URL that starts with two slashes does not name
 * a host, and `#` does not begin a fragment. The text is parsed once: setting the parts of a URL one by one parses it again
 * for each of them, for every request.
 */
export function urlOf(request: Pick<IncomingMessage, 'url'>): URL {
  const text = request.url ?? '/';
  const at = text.indexOf('?');
  const path = (at < 0 ? text : text.slice(0, at)).replace(/\/{2,}/g, '/');
  const query = at < 0 ? '' : text.slice(at);
  const slash = path.startsWith('/') ? '' : '/';
  return new URL(`${ORIGIN}${slash}${path}${query}`.replaceAll('#', '%23'));
}
