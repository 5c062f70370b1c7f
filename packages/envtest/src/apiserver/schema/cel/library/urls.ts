/** `url("https://example.com:80/path").getHostname()`. */

import type { Environment } from '@marcbachmann/cel-js';
import { setField } from '@tidegate/kube';

const TYPE = 'kubernetes.URL';

class UrlValue {
  readonly url: URL;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
    this.url = parseUrl(text);
  }

  toString(): string {
    return this.text;
  }
}

/** Accepts what Go's ParseRequestURI accepts: an absolute path or an absolute URL. */
function parseUrl(text: string): URL {
  const base = text.startsWith('/') ? 'none://' : undefined;
  if (/\s/.test(text) || !URL.canParse(text, base)) {
    throw new Error(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    );
  }
  return new URL(text, base);
}

const isUrl = (text: string): boolean => {
  try {
    parseUrl(text);
    return true;
  } catch {
    return false;
  }
};

/** The port as written. The class URL drops the default port. */
const portOf = ({ text }: UrlValue): string =>
  /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(text)?.[1] ?? '';
const hostnameOf = ({ url }: UrlValue): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

function hostOf(value: UrlValue): string {
  const port = portOf(value);
  return port === '' ? value.url.hostname : `${value.url.hostname}:${port}`;
}

function queryOf({ url }: UrlValue): Record<string, string[]> {
  const query: Record<string, string[]> = {};
  for (const key of url.searchParams.keys()) setField(query, key, url.searchParams.getAll(key));
  return query;
}

export function registerUrls(environment: Environment): void {
  environment
    .registerType(TYPE, UrlValue)
    .registerFunction(`url(string): ${TYPE}`, (text: string) => new UrlValue(text))
    .registerFunction('isURL(string): bool', isUrl)
    .registerFunction(`${TYPE}.getScheme(): string`, ({ url, text }: UrlValue) =>
      text.startsWith('/') ? '' : url.protocol.replace(/:$/, ''),
    )
    .registerFunction(`${TYPE}.getHost(): string`, hostOf)
    .registerFunction(`${TYPE}.getHostname(): string`, hostnameOf)
    .registerFunction(`${TYPE}.getPort(): string`, portOf)
    .registerFunction(`${TYPE}.getEscapedPath(): string`, ({ url, text }: UrlValue) =>
      // The class URL adds a slash to an empty path.
      url.pathname === '/' && !/^[^?#]*[^/]\/(?:[?#]|$)/.test(text) && !text.startsWith('/')
        ? ''
        : url.pathname,
    )
    .registerFunction(`${TYPE}.getQuery(): dyn`, queryOf);
}
