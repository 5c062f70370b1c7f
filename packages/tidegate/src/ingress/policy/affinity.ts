import { createHash } from 'node:crypto';
import type { PolicyReader } from './annotation-reader.ts';

/** A cookie sends the requests of a client to the same endpoint, as long as it exists. */
export interface Affinity {
  /** The name of the cookie. */
  readonly name: string;
  /** Default: the path of the route, or `/` for a regular expression. */
  readonly path?: string;
  readonly domain?: string;
  /** In seconds. */
  readonly expires?: number;
  readonly maxAge?: number;
  readonly sameSite?: (typeof SAME_SITE)[number];
  /** Leave out SameSite=None for browsers that do not know it. */
  readonly isConditional?: true;
  /** Default: over HTTPS only. */
  readonly secure?: boolean;
  /** If the endpoint does not answer, the cookie names the endpoint that does. */
  readonly changesOnFailure?: true;
  /** The choice between a backend and its canary does not depend on the cookie. */
  readonly ignoresCanary?: true;
}

const SAME_SITE = ['None', 'Lax', 'Strict'] as const;

/** Annotations of this file. With an invalid value, any endpoint gets the requests of a client. */
export const AFFINITY_NAMES = [
  ...['affinity', 'affinity-mode', 'affinity-canary-behavior', 'session-cookie-name', 'session-cookie-path'],
  ...['session-cookie-domain', 'session-cookie-expires', 'session-cookie-max-age', 'session-cookie-samesite'],
  ...[
    'session-cookie-conditional-samesite-none',
    'session-cookie-secure',
    'session-cookie-change-on-failure',
  ],
];

const DEFAULT_NAME = 'INGRESSCOOKIE';

/** Undefined if the Ingress asks for none. */
export function readAffinity(reader: PolicyReader): Affinity | undefined {
  const isAsked = reader.text('affinity') === 'cookie';
  reader.choice('affinity', ['cookie']);
  // A client keeps its endpoint in both modes.
  reader.choice('affinity-mode', ['balanced', 'persistent']);
  const behavior = reader.choice('affinity-canary-behavior', ['sticky', 'legacy']);
  const name = readText(reader, 'session-cookie-name', /^[A-Za-z0-9_-]{1,100}$/, 'letters, digits, - and _');
  const path = readText(reader, 'session-cookie-path', PATH, 'a path that starts with a slash');
  const domain = readText(reader, 'session-cookie-domain', /^[A-Za-z0-9.-]{1,253}$/, 'a host name');
  const expires = readSeconds(reader, 'session-cookie-expires');
  const maxAge = readSeconds(reader, 'session-cookie-max-age');
  const written = (reader.text('session-cookie-samesite') ?? '').toLowerCase();
  const sameSite = SAME_SITE.find((each) => each.toLowerCase() === written);
  if (sameSite === undefined && written !== '')
    reader.invalid('session-cookie-samesite', written, `one of ${SAME_SITE.join(', ')}`);
  const isConditional = reader.flag('session-cookie-conditional-samesite-none');
  const changesOnFailure = reader.flag('session-cookie-change-on-failure');
  const secure = reader.flag('session-cookie-secure');
  if (!isAsked) return undefined;
  return {
    name: name ?? DEFAULT_NAME,
    ...(path !== undefined && { path }),
    ...(domain !== undefined && { domain }),
    ...(expires !== undefined && { expires }),
    ...(maxAge !== undefined && { maxAge }),
    ...(sameSite && { sameSite }),
    ...(isConditional && { isConditional }),
    ...(reader.has('session-cookie-secure') && { secure }),
    ...(changesOnFailure && { changesOnFailure }),
    ...(behavior === 'legacy' && { ignoresCanary: true }),
  };
}

/** No character that ends an attribute of a cookie. */
const PATH = /^\/[A-Za-z0-9\-._~%/!$&'()*+:@]{0,500}$/;

function readText(reader: PolicyReader, name: string, valid: RegExp, expected: string): string | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  if (valid.test(text)) return text;
  reader.invalid(name, text, expected);
  return undefined;
}

function readSeconds(reader: PolicyReader, name: string): number | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  if (/^-?[0-9]{1,9}$/.test(text)) return Number(text);
  reader.invalid(name, text, 'a number of seconds');
  return undefined;
}

/** The value of the cookie for an endpoint of a Service. It does not depend on the order of the endpoints, or on the router. */
export const endpointKey = (service: string, endpoint: string): string =>
  createHash('md5').update(`${service} ${endpoint}`).digest('hex');

/** What the cookie depends on, besides the policy. */
export interface CookieFacts {
  /** The path of the route. Undefined for a regular expression and for a default backend. */
  readonly route: string | undefined;
  readonly secure: boolean;
  readonly userAgent: string | undefined;
  /** In milliseconds. */
  readonly now: number;
}

/** The header Set-Cookie. `affinity.lua` is the same for nginx. */
export function setCookie(
  own: Affinity,
  value: string,
  { route, secure, userAgent, now }: CookieFacts,
): string {
  const path = own.path ?? (route !== undefined && PATH.test(route) ? route : '/');
  const parts = [`${own.name}=${value}`, `Path=${path}`];
  if (own.expires !== undefined) parts.push(`Expires=${new Date(now + own.expires * 1000).toUTCString()}`);
  if (own.maxAge !== undefined) parts.push(`Max-Age=${own.maxAge}`);
  if (own.domain !== undefined) parts.push(`Domain=${own.domain}`);
  if (own.secure ?? secure) parts.push('Secure');
  parts.push('HttpOnly');
  const isLeftOut = own.isConditional && own.sameSite === 'None' && rejectsNone(userAgent ?? '');
  if (own.sameSite !== undefined && !isLeftOut) parts.push(`SameSite=${own.sameSite}`);
  return parts.join('; ');
}

/** Browsers that take SameSite=None for SameSite=Strict, or ignore such a cookie. */
const rejectsNone = (agent: string): boolean =>
  /iP[^;]*; CPU [^)]*OS 12[_\d]/.test(agent) ||
  (/Macintosh;[^)]*Mac OS X 10_14[_\d)]/.test(agent) && /Version\/[\d.]+ [^)]*Safari\//.test(agent)) ||
  /Chrom[^ /]*\/(?:5[1-9]|6[0-6])\./.test(agent);

export const describeAffinity = ({ name }: Affinity): string =>
  `sends requests of a client to the same endpoint, by cookie ${name}`;
