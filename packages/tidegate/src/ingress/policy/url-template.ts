/** Texts of URLs with variables of nginx, as annotations of ingress-nginx have them. Parsed completely, or refused. */

/** Texts and variables, in their order. */
export type UrlTemplate = readonly (string | Variable)[];

/** What is known about a request, by the name of the variable of nginx. */
export interface Variable {
  readonly variable: (typeof VARIABLES)[number];
}

/**
 * `host` is the name without a port, `http_host` the header as the client sent it, `request_uri` path and query,
 * `escaped_request_uri` the same as the value of a query argument.
 */
const VARIABLES = [
  'scheme',
  'host',
  'http_host',
  'request_uri',
  'uri',
  'args',
  'is_args',
  'escaped_request_uri',
] as const;

type VariableName = (typeof VARIABLES)[number];

/** Other names that ingress-nginx has for the same. */
const SAME: Readonly<Record<string, VariableName>> = {
  query_string: 'args',
  best_http_host: 'http_host',
  pass_access_scheme: 'scheme',
};

export const VARIABLE_NAMES = VARIABLES.map((each) => `$${each}`).join(', ');

/** Characters of URLs. */
const TEXT = /^[A-Za-z0-9\-._~:/?#@!&'()*+,;=%[\]]+$/;
const PART = /\$\{([a-z_]+)\}|\$([a-z_]+)|([^$]+)/y;

export const MOST_URL_CHARACTERS = 2_000;

/** Undefined if the text is not valid. */
export function parseUrlTemplate(text: string): UrlTemplate | undefined {
  if (text.length > MOST_URL_CHARACTERS) return undefined;
  const parts: (string | Variable)[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const [, braced, bare, literal] = PART.exec(text) ?? [];
    const name = braced ?? bare ?? '';
    const known = Object.hasOwn(SAME, name) ? SAME[name] : name;
    const variable = VARIABLES.find((each) => each === known);
    if (variable !== undefined) parts.push({ variable });
    else if (literal !== undefined && TEXT.test(literal)) parts.push(literal);
    else return undefined;
  }
  return parts;
}

/** Values of the variables for one request. */
export interface UrlFacts {
  readonly secure: boolean;
  /** The name of the host, and the Host header. */
  readonly name: string;
  readonly authority: string;
  /** Path and query. */
  readonly target: string;
}

/** `policy.lua` is the same for nginx. */
export const fillUrl = (parts: UrlTemplate, facts: UrlFacts): string =>
  parts.map((part) => (typeof part === 'string' ? part : variableOf(part, facts))).join('');

export const urlText = (parts: UrlTemplate): string =>
  parts.map((part) => (typeof part === 'string' ? part : `$${part.variable}`)).join('');

function variableOf({ variable }: Variable, { secure, name, authority, target }: UrlFacts): string {
  const query = target.indexOf('?');
  switch (variable) {
    case 'scheme':
      return secure ? 'https' : 'http';
    case 'host':
      return name;
    case 'http_host':
      return authority;
    case 'request_uri':
      return target;
    case 'escaped_request_uri':
      return escaped(target);
    case 'uri':
      return query < 0 ? target : target.slice(0, query);
    case 'args':
      return query < 0 ? '' : target.slice(query + 1);
    case 'is_args':
      return query >= 0 && query < target.length - 1 ? '?' : '';
  }
}

/** A target has visible ASCII characters only. */
const escaped = (target: string): string =>
  target.replace(
    /[^A-Za-z0-9\-._~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
