import { ALLOWED_RESPONSE_HEADERS_ANNOTATION } from '../../api/index.ts';
import { PROXY_HEADERS } from '../client-headers.ts';
import type { PolicyReader } from './annotation-reader.ts';

/**
 * Headers in a ConfigMap that an Ingress names: for clients (`custom-headers`), or for the server that authenticates them
 * (`auth-proxy-set-headers`). Routers read them like Credentials. Without them, the routes answer with 503, as in ingress-nginx.
 */
export interface HeaderSet {
  /** ID of the Credentials. */
  readonly credentials: string;
}

/** The ConfigMap of an ID of Credentials. */
export interface HeaderSource {
  /** `namespace/name`. */
  readonly configMap: string;
  readonly kind: 'responseHeaders' | 'authHeaders';
  /** Names in lower case. Absent: all names but those that are reserved. */
  readonly allowed?: readonly string[];
}

/** A ConfigMap cannot be used. The message completes "is invalid: ...". */
export class InvalidHeadersError extends Error {}

const AUTH = '#auth-headers';
/** The names follow, so that classes with different lists can be served by the same router. */
const RESPONSE = '#headers=';

/** Undefined if the ID is of another kind. */
export function headerSource(id: string): HeaderSource | undefined {
  if (id.endsWith(AUTH)) return { configMap: id.slice(0, -AUTH.length), kind: 'authHeaders' };
  const at = id.indexOf(RESPONSE);
  if (at < 0) return undefined;
  const allowed = id.slice(at + RESPONSE.length).split(',');
  return { configMap: id.slice(0, at), kind: 'responseHeaders', allowed };
}

/** `allowed`: the names that the class of the Ingress allows. */
export function readCustomHeaders(
  reader: PolicyReader,
  {
    namespace,
    allowedHeaders = [],
  }: { readonly namespace: string; readonly allowedHeaders?: readonly string[] },
): HeaderSet | undefined {
  const configMap = readConfigMap(reader, 'custom-headers', namespace);
  if (configMap === undefined) return undefined;
  if (allowedHeaders.length > 0) return { credentials: `${configMap}${RESPONSE}${allowedHeaders.join(',')}` };
  reader.invalid(
    'custom-headers',
    configMap,
    `nothing, or ask the administrators of the class to list the names of the headers in the annotation ${ALLOWED_RESPONSE_HEADERS_ANNOTATION} of the IngressClass: it allows none`,
  );
  return undefined;
}

/** The ID of the Credentials. */
export function readAuthHeaders(reader: PolicyReader, namespace: string): string | undefined {
  const configMap = readConfigMap(reader, 'auth-proxy-set-headers', namespace);
  return configMap === undefined ? undefined : configMap + AUTH;
}

const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** A ConfigMap of another namespace is refused: routers read only those of Ingresses of the same namespace. */
function readConfigMap(reader: PolicyReader, annotation: string, namespace: string): string | undefined {
  const text = reader.text(annotation);
  if (text === undefined) return undefined;
  const own = `${namespace}/`;
  const name = text.startsWith(own) ? text.slice(own.length) : text;
  if (NAME.test(name)) return own + name;
  reader.invalid(annotation, text, 'the name of a ConfigMap in the namespace of the Ingress');
  return undefined;
}

const HEADER = /^[A-Za-z0-9-]{1,100}$/;

/** The names in the annotation of an IngressClass, in lower case, without those that cannot be allowed. */
export function readAllowedHeaders(text: string | undefined): readonly string[] {
  const names = (text ?? '').split(',').map((name) => name.trim().toLowerCase());
  return [...new Set(names)]
    .filter((name) => HEADER.test(name) && !isReserved(name, 'responseHeaders'))
    .sort();
}

/** They belong to the connection, or say where a message ends. */
const OF_CONNECTIONS = [
  ...['connection', 'content-length', 'expect', 'http2-settings', 'keep-alive', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade'],
];

const RESERVED: Readonly<Record<HeaderSource['kind'], ReadonlySet<string>>> = {
  // The data planes or other policies set these.
  responseHeaders: new Set([
    ...OF_CONNECTIONS,
    ...['content-encoding', 'content-range', 'content-type', 'date', 'location', 'server', 'set-cookie'],
    ...['vary', 'www-authenticate'],
  ]),
  // A server trusts the router to set these.
  authHeaders: new Set([
    ...OF_CONNECTIONS,
    ...['host', 'forwarded', 'cdn-loop', 'x-auth-request-redirect', 'x-forwarded-for', 'x-forwarded-host'],
    ...['x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-proto', 'x-original-method', 'x-original-uri'],
    ...['x-original-url', 'x-real-ip', 'x-request-id', 'x-scheme', 'x-sent-from'],
    ...PROXY_HEADERS,
  ]),
};

const isReserved = (lower: string, kind: HeaderSource['kind']): boolean =>
  RESERVED[kind].has(lower) || (kind === 'authHeaders' && lower.startsWith('ssl-client-'));

const MOST_HEADERS = 50;
const MOST_CHARACTERS = 4_000;

/** Printable ASCII. A dollar sign would be a variable in ingress-nginx. */
const VALUE = /^[!-#%-~](?:[ -#%-~]*[!-#%-~])?$/;

/** The headers of a ConfigMap. All of them are valid, or none is used. */
export function readHeaders(
  data: Readonly<Record<string, string>>,
  { kind, allowed }: HeaderSource,
): Record<string, string> {
  const entries = Object.entries(data);
  if (entries.length > MOST_HEADERS)
    throw new InvalidHeadersError(`it has ${entries.length} headers, the limit is ${MOST_HEADERS}`);
  const names = new Set<string>();
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const refuse = (why: string): never => {
      throw new InvalidHeadersError(`the key ${JSON.stringify(name.slice(0, 100))} ${why}`);
    };
    if (!HEADER.test(name)) refuse('is not a valid name of a header: use letters, digits and -');
    if (isReserved(lower, kind)) refuse('is a header that only the router sets');
    if (allowed !== undefined && !allowed.includes(lower))
      refuse(
        `is not a header that the class allows. The annotation ${ALLOWED_RESPONSE_HEADERS_ANNOTATION} of the IngressClass has: ${allowed.join(', ')}`,
      );
    if (names.has(lower)) refuse('is there twice, in another case');
    if (value.length > MOST_CHARACTERS || !VALUE.test(value))
      refuse(
        `has a value that is empty, is longer than ${MOST_CHARACTERS} characters, or has line breaks, variables ($) or other characters than printable ASCII`,
      );
    names.add(lower);
  }
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const describeCustomHeaders = ({ credentials }: HeaderSet): string =>
  `adds the headers of ConfigMap ${headerSource(credentials)?.configMap} to responses`;
