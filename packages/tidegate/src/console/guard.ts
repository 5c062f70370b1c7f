import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Why a request is refused. */
export interface Refusal {
  status: number;
  message: string;
}

interface Question {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/** The names under which a browser on this machine opens the console. */
export const hostsOf = (port: number): string[] => [
  `127.0.0.1:${port}`,
  `localhost:${port}`,
  `[::1]:${port}`,
];

/**
 * Refuses requests that another web site may have caused. A page of another site can send requests to loopback addresses, and
 * with DNS rebinding its own name leads to one. The name of the Host header gives the second away, Origin and Sec-Fetch-Site the first.
 */
export function refuseForeign({ method, path, headers }: Question, port: number): Refusal | undefined {
  const hosts = hostsOf(port);
  const { host, origin } = headers;
  if (host === undefined || !hosts.includes(host.toLowerCase()))
    return { status: 421, message: `the console does not serve this host; open http://${hosts[0]}/` };
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    return { status: 403, message: 'requests of other web sites are refused' };
  const isPage = !path.startsWith('/api/');
  const site = headers['sec-fetch-site'];
  // A link on another site may lead to the console, but may not read from it.
  const isNavigation = isPage && headers['sec-fetch-mode'] === 'navigate';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation)
    return { status: 403, message: 'requests of other web sites are refused' };
  return method === 'GET' || method === 'HEAD'
    ? undefined
    : { status: 405, message: `${method} is not supported here` };
}

/** Compares secrets in a time that does not depend on where they differ. */
export function isSameSecret(given: string | undefined, secret: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** On every response. The pages use only files of this server: no inline script, no inline style, no HTML from strings. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
