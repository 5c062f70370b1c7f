import type { Exchange } from './exchange.ts';

/** The status for a request that is rejected before it is routed; undefined if it is not. */
export function refusalOf({ request, method, host }: Exchange): number | undefined {
  // TRACE echoes the headers, and would show scripts what they must not see, for example cookies.
  if (method === 'TRACE') return 405;
  if ('stream' in request) return undefined;
  if (request.httpVersionMajor !== 1) return 505;
  // RFC 9112, section 3.2. Only HTTP/1.0 allows requests without a host.
  if (host === undefined && request.httpVersionMinor > 0) return 400;
  const coding = request.headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  // HTTP/1.0 has no chunks. An endpoint might disagree about where the body ends (request smuggling).
  if (request.httpVersionMinor === 0) return 400;
  return coding.toLowerCase() === 'chunked' ? undefined : 501;
}
