import type { PolicyReader } from './annotation-reader.ts';
import {
  fillUrl,
  MOST_URL_CHARACTERS,
  parseUrlTemplate,
  type UrlFacts,
  type UrlTemplate,
  VARIABLE_NAMES,
} from './url-template.ts';

/** A redirect to another URL. */
export interface Redirect {
  readonly status: number;
  readonly to: UrlTemplate;
}

const PERMANENT = [301, 302, 303, 307, 308] as const;
const TEMPORAL = [302, 301, 303, 307, 308] as const;

/** As ingress-nginx does, a temporal redirect wins. */
export function readRedirect(reader: PolicyReader): Redirect | undefined {
  const kinds = [
    ['temporal-redirect', 'temporal-redirect-code', TEMPORAL],
    ['permanent-redirect', 'permanent-redirect-code', PERMANENT],
  ] as const;
  for (const [name, code, codes] of kinds) {
    const text = reader.text(name);
    const status = reader.number(code, codes);
    if (text === undefined) continue;
    const to = BEGINNING.test(text) ? parseUrlTemplate(text) : undefined;
    if (to !== undefined) return { status, to };
    reader.invalid(name, text, `a URL with http or https, or a path. It may contain ${VARIABLE_NAMES}`);
  }
  return undefined;
}

/** A scheme and a host, or a path. Two slashes at the beginning would be another host. */
const BEGINNING =
  /^(?:(?:https?|\$scheme|\$\{scheme\}):\/\/[^/?#]|\/(?![/\\])|\$request_uri|\$\{request_uri\}|\$uri)/;
/** A path to which requests for `/` are redirected. */
export function readAppRoot(reader: PolicyReader): string | undefined {
  const text = reader.text('app-root');
  if (text === undefined) return undefined;
  if (/^\/(?!\/)[A-Za-z0-9\-._~:/?=&%]*$/.test(text) && text.length <= MOST_URL_CHARACTERS) return text;
  reader.invalid('app-root', text, 'a path that starts with one slash');
  return undefined;
}

const WWW = 'www.';

/** The name that is redirected to the host, and the redirect. Undefined if the host has none: a wildcard, or no name. */
export function wwwCounterpart(host: string): { host: string; redirect: Redirect } | undefined {
  if (host === '' || host.startsWith('*')) return undefined;
  return {
    host: host.startsWith(WWW) ? host.slice(WWW.length) : WWW + host,
    redirect: { status: 308, to: [{ variable: 'scheme' }, '://', host, { variable: 'request_uri' }] },
  };
}

export const locationOf = ({ to }: Redirect, facts: UrlFacts): string => fillUrl(to, facts);
