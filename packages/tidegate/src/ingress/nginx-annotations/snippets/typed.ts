import type { Directive } from './parse.ts';

/** What to write in place of a directive, which completes "write ..."; undefined: there is no typed form. */
type TypedForm = (directive: Directive, scope: Scope) => string | undefined;

/** `auth`: the directives are for the server that authenticates clients. */
export type Scope = 'route' | 'auth';

const ALL_ADDRESSES = '0.0.0.0/0,::/0';

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

const annotation = (name: string, value: string): string => `${name}: ${quoted(value)}`;

/** Of headers for responses. Values with variables have no typed form. */
function header(name: string, value: string): string | undefined {
  const lower = name.toLowerCase();
  if (lower.startsWith('access-control-allow-')) {
    const kind = lower.slice('access-control-allow-'.length);
    return value.includes('$')
      ? 'enable-cors: "true" and cors-allow-origin with a list of the sites'
      : `enable-cors: "true" and ${annotation(`cors-allow-${kind}`, value)}`;
  }
  if (lower === 'access-control-expose-headers') return annotation('cors-expose-headers', value);
  if (lower === 'access-control-max-age') return annotation('cors-max-age', value);
  if (value.includes('$')) return undefined;
  return `custom-headers with the name of a ConfigMap that has ${quoted(name)}: ${quoted(value)}`;
}

function moreHeaders({ args }: Directive): string | undefined {
  const [text = ''] = args.filter((each) => each.includes(':'));
  const at = text.indexOf(':');
  return at < 0 ? undefined : header(text.slice(0, at).trim(), text.slice(at + 1).trim());
}

/** Annotations for redirects with a status. */
function redirect(status: string, url: string): string | undefined {
  const name = { 301: 'permanent', 308: 'permanent', 302: 'temporal', 303: 'temporal', 307: 'temporal' }[
    status
  ];
  if (name === undefined) return undefined;
  const isDefault = status === '301' || status === '302';
  const code = isDefault ? '' : ` and ${annotation(`${name}-redirect-code`, status)}`;
  return annotation(`${name}-redirect`, url) + code;
}

const STATUSES: Readonly<Record<string, string>> = {
  403: annotation('denylist-source-range', ALL_ADDRESSES),
  404: 'no path for it in spec.rules: the response is 404 then',
  444: annotation('denylist-source-range', ALL_ADDRESSES),
};

function returned({ args }: Directive): string | undefined {
  const [status = '', url] = args;
  if (/^https?:/.test(status)) return redirect('302', status);
  return url === undefined ? STATUSES[status] : (redirect(status, url) ?? STATUSES[status]);
}

function rewritten({ args }: Directive): string | undefined {
  const [pattern = '', target = '', flag = ''] = args;
  const status = { permanent: '301', redirect: '302' }[flag] ?? (/^https?:/.test(target) ? '302' : undefined);
  const isAll = ['^', '^/', '^(.*)$', '^/(.*)$', '.*', '/'].includes(pattern);
  const where = `an Ingress with the path ${quoted(pattern.replace(/^\^/, ''))}`;
  if (status === undefined) return `${where}, use-regex: "true" and ${annotation('rewrite-target', target)}`;
  const url = isAll ? target.replace(/\$1/, '$request_uri').replace('/$request_uri', '$request_uri') : target;
  if (isAll) return redirect(status, url);
  // Redirects have no groups of the path.
  return /\$\d/.test(url) ? undefined : `${where}, use-regex: "true" and ${redirect(status, url)}`;
}

const list =
  (name: string): TypedForm =>
  ({ args: [network = ''] }) =>
    annotation(name, network === 'all' ? ALL_ADDRESSES : network);

function sent({ args }: Directive, scope: Scope): string | undefined {
  const [name = '', value = ''] = args;
  const lower = name.toLowerCase();
  if (scope === 'auth')
    return value.includes('$')
      ? undefined
      : `auth-proxy-set-headers with the name of a ConfigMap that has ${quoted(name)}: ${quoted(value)}`;
  if (lower === 'host') return value.includes('$') ? undefined : annotation('upstream-vhost', value);
  if (lower === 'x-forwarded-prefix') return annotation('x-forwarded-prefix', value);
  if (lower === 'upgrade' || lower === 'connection') return 'nothing: WebSocket works without it';
  if (/^x-(?:real-ip|forwarded-(?:for|proto|host|port)|request-id)$/.test(lower))
    return 'nothing: routers send this header';
  return undefined;
}

/** The words between the parentheses, which nginx takes as separate arguments. */
const conditionOf = ({ args }: Directive): string[] =>
  args
    .join(' ')
    .replace(/^\(\s*|\s*\)$/g, '')
    .split(/\s+/);

function conditional(directive: Directive): string | undefined {
  const [variable = '', operator = '', ...rest] = conditionOf(directive);
  const value = rest.join(' ');
  const [inner] = directive.block ?? [];
  if (inner === undefined) return undefined;
  const [status = '', url = ''] = inner.args;
  const isRedirect = inner.name === 'rewrite' || (inner.name === 'return' && /^30[1278]$/.test(status));
  if (/^\$(?:scheme|http_x_forwarded_proto|https)$/.test(variable) && isRedirect)
    return 'force-ssl-redirect: "true"';
  if (/^\$(?:host|http_host)$/.test(variable) && isRedirect)
    return /^"?\^?www\\?\./.test(value) || url.includes('://www.')
      ? 'from-to-www-redirect: "true"'
      : `an Ingress with the host ${quoted(value)} and ${typedForm(inner, 'route') ?? 'permanent-redirect'}`;
  if (variable === '$request_method' && value.toUpperCase() === 'OPTIONS') return 'enable-cors: "true"';
  if (variable === '$remote_addr' && operator === '=' && status === '403')
    return annotation('denylist-source-range', value);
  const typed = typedForm(inner, 'route');
  if (/^\$(?:uri|request_uri)$/.test(variable) && typed !== undefined)
    return operator === '='
      ? `an Ingress with the path ${quoted(value)} of type Exact and ${typed}`
      : `an Ingress with the path ${quoted(value.replace(/^\^/, ''))}, use-regex: "true" and ${typed}`;
  return undefined;
}

function location({ args, block = [] }: Directive): string | undefined {
  const [path = ''] = args.slice(-1);
  const [inner] = block;
  const typed = inner && typedForm(inner, 'route');
  if (typed === undefined || block.length > 1) return undefined;
  const kinds: Readonly<Record<string, string>> = {
    '=': ' of type Exact',
    '~': ', use-regex: "true"',
    '~*': ', use-regex: "true"',
  };
  return `an Ingress with the path ${quoted(path.replace(/^\^/, ''))}${args.length > 1 ? (kinds[args[0] ?? ''] ?? '') : ''} and ${typed}`;
}

/** Directives that have an annotation with the same meaning and value. */
const SAME: Readonly<Record<string, string>> = {
  client_max_body_size: 'proxy-body-size',
  client_body_buffer_size: 'client-body-buffer-size',
  ...Object.fromEntries(
    [
      ...['proxy_connect_timeout', 'proxy_read_timeout', 'proxy_send_timeout', 'proxy_buffering'],
      ...['proxy_buffer_size', 'proxy_request_buffering', 'proxy_cookie_domain', 'proxy_cookie_path'],
      ...['proxy_http_version', 'proxy_next_upstream', 'proxy_next_upstream_tries', 'proxy_ssl_name'],
      ...['proxy_ssl_verify', 'proxy_ssl_server_name', 'proxy_ssl_protocols', 'satisfy', 'ssl_ciphers'],
    ].map((name) => [name, name.replaceAll('_', '-')]),
  ),
};

const FORMS: ReadonlyMap<string, TypedForm> = new Map<string, TypedForm>([
  ['add_header', ({ args: [name = '', value = ''] }) => header(name, value)],
  ['more_set_headers', moreHeaders],
  ['return', returned],
  ['rewrite', rewritten],
  ['allow', list('allowlist-source-range')],
  ['deny', list('denylist-source-range')],
  ['proxy_set_header', sent],
  ['more_set_input_headers', (directive, scope) => sent(inputHeader(directive), scope)],
  ['if', conditional],
  ['location', location],
]);

function inputHeader(directive: Directive): Directive {
  const [text = ''] = directive.args.filter((each) => each.includes(':'));
  const at = text.indexOf(':');
  return { ...directive, args: [text.slice(0, at).trim(), text.slice(at + 1).trim()] };
}

export function typedForm(directive: Directive, scope: Scope): string | undefined {
  const same = SAME[directive.name];
  if (same !== undefined && Object.hasOwn(SAME, directive.name))
    return annotation(same, directive.args.join(' '));
  return FORMS.get(directive.name)?.(directive, scope);
}
