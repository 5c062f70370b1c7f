/**
 * The format of `request.headersDistinct`. In the joined format, several values of `Impersonate-Group` would
 * become one group with a comma in its name.
 */
export type RequestHeaders = NodeJS.Dict<string[]>;
export type ResponseHeaders = Record<string, string | string[]>;

/** Headers that belong to one connection and are not forwarded (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Headers that the hub sets itself, or that describe the connection of the client: target, credentials, and
 * length.
 */
const REPLACED = new Set(['authorization', 'content-length', 'expect', 'forwarded', 'host', 'x-real-ip']);

/**
 * Headers that only trusted proxies set. There is no proxy between the client and the hub, so a client that
 * sends them tries to impersonate another client. The API server uses `X-Remote-User` for the authenticating
 * proxy.
 */
const UNTRUSTED_PREFIXES = ['x-forwarded-', 'x-remote-'];

/** The headers of a client's request that are forwarded to the API server. */
export function forwardedRequestHeaders(headers: RequestHeaders): Record<string, string[]> {
  const result: Record<string, string[]> = {};
  const connection = namedByConnection(headers.connection ?? []);
  for (const [name, values] of Object.entries(headers)) {
    if (values === undefined || HOP_BY_HOP.has(name) || REPLACED.has(name) || connection.has(name)) continue;
    if (UNTRUSTED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    result[name] = values;
  }
  return result;
}

/** The headers of the API server's response that are forwarded to the client. */
export function forwardedResponseHeaders(
  headers: Record<string, string | string[] | undefined>,
): ResponseHeaders {
  const result: ResponseHeaders = {};
  const connection = namedByConnection([headers.connection ?? []].flat());
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || connection.has(name)) continue;
    result[name] = value;
  }
  return result;
}

const namedByConnection = (values: string[]): Set<string> =>
  new Set(values.flatMap((value) => value.split(',').map((name) => name.trim().toLowerCase())));
