import { MAX_CONNECTION_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, MAX_LINE_BYTES, METHODS } from '../limits.ts';
import type { Exchange } from './exchange.ts';
import type { FlatHeaders } from './flat-headers.ts';
import { namedByConnection } from './headers.ts';

/** The status for a request that is rejected before it is routed; undefined if it is not. */
export function refusalOf(exchange: Exchange): number | undefined {
  const { request, method, host } = exchange;
  if (method === 'TRACE') return 405;
  if (!METHODS.has(method)) return 400;
  if ('stream' in request) return refusalOfNumber(request.rawHeaders);
  if (request.httpVersionMajor !== 1) return 505;
  // RFC 9112, section 3.2. Only HTTP/1.0 allows requests without a host.
  if (host === undefined && request.httpVersionMinor > 0) return 400;
  return (
    refusalOfSize(exchange, request.rawHeaders) ?? refusalOfConnection(exchange) ?? refusalOfCoding(exchange)
  );
}

/** Node.js itself limits the size of the headers over HTTP/2. Pseudo-headers do not count. */
function refusalOfNumber(headers: FlatHeaders): number | undefined {
  const isField = (text: string, at: number): boolean => at % 2 === 0 && !text.startsWith(':');
  return headers.length > 2 * MAX_HEADERS && headers.filter(isField).length > MAX_HEADERS ? 431 : undefined;
}

/** Line ends and the characters between the parts of a line count too. */
function refusalOfSize({ method, target }: Exchange, headers: FlatHeaders): number | undefined {
  const line = method.length + target.length + ' '.length + ' HTTP/1.1\r\n'.length;
  if (line > MAX_LINE_BYTES) return 414;
  let total = line + '\r\n'.length;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const bytes = headers[at]!.length + headers[at + 1]!.length + ': \r\n'.length;
    if (bytes > MAX_LINE_BYTES) return 431;
    total += bytes;
  }
  return total > MAX_HEAD_BYTES || headers.length > 2 * MAX_HEADERS ? 431 : undefined;
}

/** Without these headers the router and the endpoint would not agree on the request. */
const REQUIRED = ['host', 'content-length', 'transfer-encoding'];

function refusalOfConnection({ request, upgrade }: Exchange): number | undefined {
  const { connection, 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (connection !== undefined && connection.length > MAX_CONNECTION_BYTES) return 400;
  const named = namedByConnection(connection);
  if (REQUIRED.some((name) => named.has(name))) return 400;
  // After the switch to another protocol, the body could be read as a part of it.
  return upgrade !== undefined && (Number(length) > 0 || coding !== undefined) ? 400 : undefined;
}

function refusalOfCoding({ request }: Exchange): number | undefined {
  const coding = request.headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  // HTTP/1.0 has no chunks. An endpoint might disagree about where the body ends (request smuggling).
  if ('stream' in request || request.httpVersionMinor === 0) return 400;
  return coding.toLowerCase() === 'chunked' ? undefined : 501;
}
