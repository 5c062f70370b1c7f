import { PROXY_HEADERS } from '../client-headers.ts';
import type { PolicyReader } from './annotation-reader.ts';
import { type AuthCache, readAuthCache } from './auth-cache.ts';
import { type ExternalServer, readServerUrl } from './external-server.ts';
import { headerSource, readAuthHeaders } from './header-sets.ts';
import { parseUrlTemplate, type UrlTemplate, urlText, VARIABLE_NAMES } from './url-template.ts';

/**
 * Another server decides about each request: with a status of 2xx the client is served, with 401 and 403 it gets this status,
 * and in all other cases, also if the server does not answer, the response is 500.
 */
export interface ExternalAuth {
  /** ID of the upstream with the server. Absent: the route of the same host for the target is asked. */
  readonly upstream?: string;
  readonly secure: boolean;
  /** The header Host, without a default port. Empty: that of the client. */
  readonly host: string;
  readonly target: UrlTemplate;
  /** If it is written, the server gets more headers, as in ingress-nginx. Default: GET. */
  readonly method?: string;
  /** Where clients are redirected to in place of the status 401. */
  readonly signin?: UrlTemplate;
  /** Headers of the server that the endpoint gets, in place of those of the client. */
  readonly responseHeaders: readonly string[];
  /** The value of the header X-Auth-Request-Redirect. Default: path and query. */
  readonly redirect?: UrlTemplate;
  readonly cache?: AuthCache;
  /** Connections that are kept. Absent: none is. */
  readonly keepalive?: { readonly connections: number; readonly requests: number; readonly seconds: number };
  /** ID of the Credentials with headers that the server gets in place of those of the client. Without them, the status is 503. */
  readonly headers?: string;
  /** Cookies of the server are added to responses with every status. */
  readonly alwaysSetsCookie?: true;
}

/** Annotations of this file. */
export const EXTERNAL_AUTH_NAMES = [
  ...['auth-url', 'auth-method', 'auth-signin', 'auth-signin-redirect-param', 'auth-response-headers'],
  ...['auth-request-redirect', 'auth-cache-key', 'auth-cache-duration', 'auth-keepalive'],
  ...['auth-keepalive-requests', 'auth-keepalive-timeout', 'auth-keepalive-share-vars'],
  ...['auth-always-set-cookie', 'auth-proxy-set-headers'],
];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Undefined if the Ingress asks for none, or if an annotation is not valid: that closes its hosts. */
export function readExternalAuth(
  reader: PolicyReader,
  namespace: string,
): { auth: ExternalAuth; server: ExternalServer | undefined } | undefined {
  if (!reader.has('auth-url')) {
    const other = EXTERNAL_AUTH_NAMES.find((name) => reader.has(name));
    if (other !== undefined)
      reader.invalid(other, reader.text(other) ?? '', 'auth-url too, or remove this annotation');
    return undefined;
  }
  const url = readServerUrl(reader, 'auth-url', namespace);
  const method = reader.has('auth-method') ? reader.choice('auth-method', METHODS) : undefined;
  const signin = readSignin(reader);
  const redirect = readTemplate(reader, 'auth-request-redirect');
  const responseHeaders = readHeaders(reader);
  const cache = readAuthCache(reader);
  const keepalive = readKeepalive(reader);
  // The server gets its own headers, so there is nothing to share.
  reader.flag('auth-keepalive-share-vars');
  const always = reader.flag('auth-always-set-cookie');
  const headers = readAuthHeaders(reader, namespace);
  if (url === undefined) return undefined;
  const { server, ...where } = url;
  const auth: ExternalAuth = {
    ...(server && { upstream: server.id }),
    ...where,
    ...(method && { method }),
    ...(signin && { signin }),
    responseHeaders,
    ...(redirect && { redirect }),
    ...(cache && { cache }),
    ...(keepalive && { keepalive }),
    ...(headers !== undefined && { headers }),
    ...(always && { alwaysSetsCookie: true }),
  };
  return { auth, server };
}

/** As in ingress-nginx, the URL of the request is added unless the argument is written. */
function readSignin(reader: PolicyReader): UrlTemplate | undefined {
  const argument = reader.text('auth-signin-redirect-param') ?? 'rd';
  if (!/^[A-Za-z0-9_.-]{1,100}$/.test(argument))
    reader.invalid('auth-signin-redirect-param', argument, 'the name of an argument of the query');
  const text = reader.text('auth-signin');
  if (text === undefined) return undefined;
  const isUrl = /^(?:https?|\$scheme|\$\{scheme\}|\$pass_access_scheme):\/\/[^/?#]/.test(text);
  const parts = isUrl && !text.includes('#') ? parseUrlTemplate(text) : undefined;
  if (parts === undefined) {
    reader.invalid('auth-signin', text, `a URL with http or https. It may contain ${VARIABLE_NAMES}`);
    return undefined;
  }
  const query = text.includes('?') ? text.slice(text.indexOf('?') + 1) : '';
  if (query.split('&').some((part) => part.startsWith(`${argument}=`) && part !== `${argument}=`))
    return parts;
  const before = query !== '' ? '&' : text.endsWith('?') ? '' : '?';
  return [
    ...parts,
    `${before}${argument}=`,
    { variable: 'scheme' },
    '://',
    { variable: 'http_host' },
    { variable: 'escaped_request_uri' },
  ];
}

function readTemplate(reader: PolicyReader, name: string): UrlTemplate | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  const parts = parseUrlTemplate(text);
  if (parts === undefined) reader.invalid(name, text, `a URL or a path. It may contain ${VARIABLE_NAMES}`);
  return parts;
}

const MOST_HEADERS = 50;

/** The router sets these itself, or they belong to the connection. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'x-forwarded-for', 'x-forwarded-host'],
  ...['x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-proto', 'x-request-id'],
  ...PROXY_HEADERS,
]);

function readHeaders(reader: PolicyReader): string[] {
  const text = reader.text('auth-response-headers') ?? '';
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const wrong = names.find((name) => !/^[A-Za-z0-9-]{1,100}$/.test(name));
  const reserved = names.find((name) => RESERVED.has(name.toLowerCase()));
  const refuse = (value: string, expected: string): void =>
    reader.invalid('auth-response-headers', value, expected);
  if (wrong !== undefined) refuse(wrong, 'comma-separated names of headers');
  else if (reserved !== undefined) refuse(reserved, 'headers that the router does not set itself');
  else if (names.length > MOST_HEADERS)
    refuse(`${names.length} names`, `at most ${MOST_HEADERS} names of headers`);
  const known = new Map(names.map((name) => [name.toLowerCase(), name]));
  return [...known.values()];
}

function readKeepalive(reader: PolicyReader): ExternalAuth['keepalive'] {
  const number = (name: string, otherwise: number, most: number): number => {
    const text = reader.text(name) ?? '';
    if (text === '') return otherwise;
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value <= most) return value;
    reader.invalid(name, text, `a number from 0 to ${most}`);
    return otherwise;
  };
  const connections = number('auth-keepalive', 0, 1_000);
  const requests = number('auth-keepalive-requests', 1_000, 1_000_000);
  const seconds = number('auth-keepalive-timeout', 60, 3_600);
  return connections > 0 && requests > 0 && seconds > 0 ? { connections, requests, seconds } : undefined;
}

export function describeExternalAuth(auth: ExternalAuth): string[] {
  const { secure, host, target, signin, responseHeaders, cache, headers } = auth;
  const where = `${secure ? 'https' : 'http'}://${host === '' ? '$host' : host}${urlText(target)}`;
  return [
    `asks ${where} about each request${cache === undefined ? '' : ', and keeps the answers'}`,
    ...(headers === undefined
      ? []
      : [`sends it the headers of ConfigMap ${headerSource(headers)?.configMap}`]),
    ...(signin === undefined ? [] : [`redirects clients without a session to ${urlText(signin)}`]),
    ...(responseHeaders.length === 0 ? [] : [`sends ${responseHeaders.join(', ')} of its answers`]),
  ];
}
