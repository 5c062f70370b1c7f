import type { Exchange } from './exchange.ts';

/** What is wrong with a request before anybody looks where it goes: the status to answer with. */
export function refusalOf({ request, method }: Exchange): number | undefined {
  // It would send back what clients must not see of their own headers, such as cookies.
  if (method === 'TRACE') return 405;
  if ('stream' in request) return undefined;
  if (request.httpVersionMajor !== 1) return 505;
  const coding = request.headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  // The next server could see another end of the body than we do.
  if (request.httpVersionMinor === 0) return 400;
  return coding.toLowerCase() === 'chunked' ? undefined : 501;
}
