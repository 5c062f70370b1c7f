/** As `request.headersDistinct` has them: joined values of `Impersonate-Group` would be one group with a comma in it. */
export type RequestHeaders = NodeJS.Dict<string[]>;
export type ResponseHeaders = Record<string, string | string[]>;

/** They belong to one connection, and the next one has its own. RFC 9110, 7.6.1. */
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

/** What this hop says itself: where it goes, who asks, and how much there is to send. */
const REPLACED = new Set(['authorization', 'content-length', 'expect', 'forwarded', 'host', 'x-real-ip']);

/** Words of proxies in front of us, of which there are none: a client that says them wants to be somebody else. */
const UNTRUSTED_PREFIXES = ['x-forwarded-', 'x-remote-'];

/** What goes on to the API server of a client's headers. */
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

/** What goes back to the client of the API server's headers. */
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
