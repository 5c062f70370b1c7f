/** What Tidegate does with a key of the ConfigMap of ingress-nginx, if it is a parameter of a class. */
export interface ConfigKey {
  readonly verdict: 'honored' | 'changed' | 'refused';
  /** Only if it is honored: it describes clients, or it is the default of the annotation with the same name. */
  readonly of?: 'clients' | 'ingresses';
  /** Sentences. */
  readonly text: string;
  /** With these values, Tidegate does the same. */
  readonly same?: readonly string[];
}

const each = (names: readonly string[], key: ConfigKey): [string, ConfigKey][] =>
  names.map((name) => [name, key]);

const clients = (text: string): ConfigKey => ({ verdict: 'honored', of: 'clients', text });

/** Keys with the names and values of annotations. An Ingress with the annotation has its own value. */
const DEFAULTS: readonly string[] = [
  ...['proxy-body-size', 'proxy-connect-timeout', 'proxy-read-timeout', 'proxy-send-timeout'],
  ...['proxy-buffer-size', 'proxy-buffers-number', 'proxy-busy-buffers-size', 'proxy-buffering'],
  ...['proxy-request-buffering', 'proxy-max-temp-file-size', 'client-body-buffer-size', 'proxy-http-version'],
  ...['proxy-next-upstream', 'proxy-next-upstream-timeout', 'proxy-next-upstream-tries'],
  ...['proxy-cookie-domain', 'proxy-cookie-path', 'proxy-redirect-from', 'proxy-redirect-to'],
  ...['ssl-redirect', 'force-ssl-redirect', 'preserve-trailing-slash', 'service-upstream', 'load-balance'],
  ...['whitelist-source-range', 'denylist-source-range', 'limit-rate', 'limit-rate-after'],
];

/**
 * The keys that people set most. A key with which ingress-nginx protects something is refused: the move must not go on
 * without it. Others are not.
 */
export const CONFIG_KEYS: ReadonlyMap<string, ConfigKey> = new Map<string, ConfigKey>([
  [
    'use-forwarded-headers',
    clients(
      'Proxies in proxy-real-ip-cidr report the address, the scheme, the host and the port of clients with X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and X-Forwarded-Port.',
    ),
  ],
  ['enable-real-ip', clients('Proxies in proxy-real-ip-cidr report only the address of clients.')],
  [
    'forwarded-for-header',
    clients(
      'Names the header with the address. The default is X-Forwarded-For. With Forwarded, the header of RFC 7239 is read in place of all headers X-Forwarded.',
    ),
  ],
  [
    'compute-full-forwarded-for',
    clients('Backends get all addresses of X-Forwarded-For, not only that of the client.'),
  ],
  [
    'use-proxy-protocol',
    clients(
      'All connections must begin with a header of the PROXY protocol, version 1 or 2. Its address counts if the proxy is in proxy-real-ip-cidr.',
    ),
  ],
  ['proxy-real-ip-cidr', clients('Lists the addresses of trusted proxies. There is no default.')],
  ...each(DEFAULTS, {
    verdict: 'honored',
    of: 'ingresses',
    text: 'Sets the default of the annotation with the same name for all Ingresses of the class.',
  }),
  ...each(['block-cidrs', 'block-user-agents', 'block-referers'], {
    verdict: 'refused',
    text: 'It restricts access to all hosts. Block these clients in front of the router; for addresses, write the annotation denylist-source-range.',
    same: [''],
  }),
  ...each(['global-auth-url', 'global-auth-signin', 'global-auth-response-headers', 'global-auth-snippet'], {
    verdict: 'refused',
    text: 'It asks for authentication of all clients. Authenticate them in each Ingress or application.',
    same: [''],
  }),
  ...each(['enable-modsecurity', 'enable-owasp-modsecurity-crs', 'modsecurity-snippet'], {
    verdict: 'refused',
    text: 'It asks for a web application firewall. Run it in front of the router or of the application.',
    same: ['false', ''],
  }),
  ...each(['main-snippet', 'http-snippet', 'server-snippet', 'location-snippet', 'stream-snippet'], {
    verdict: 'refused',
    text: 'It has directives of nginx, which may restrict access. Tidegate has no snippets. Use annotations.',
    same: [''],
  }),
  ...each(['ssl-protocols', 'ssl-ciphers'], {
    verdict: 'changed',
    text: 'Routers use TLS 1.2 and 1.3 with the ciphers of their version of OpenSSL.',
  }),
  ...each(['hsts', 'hsts-max-age', 'hsts-include-subdomains', 'hsts-preload'], {
    verdict: 'changed',
    text: 'Tidegate does not send Strict-Transport-Security. Set the header in the application.',
    same: [],
  }),
  ...each(['global-allowed-response-headers'], {
    verdict: 'changed',
    text: 'Tidegate allows no headers in custom-headers by default: write the list into the annotation tidegate.io/allowed-response-headers of the IngressClass.',
  }),
  ...each(['add-headers'], {
    verdict: 'changed',
    text: 'Responses get no additional headers. Set them in the application.',
    same: [''],
  }),
  ...each(['proxy-set-headers'], {
    verdict: 'changed',
    text: 'Backends get no additional headers.',
    same: [''],
  }),
  ...each(['hide-headers', 'server-tokens'], {
    verdict: 'changed',
    text: 'Headers of backends are forwarded unchanged. Routers do not name their version.',
    same: ['', 'false'],
  }),
  ...each(['custom-http-errors'], {
    verdict: 'changed',
    text: 'Responses of backends are forwarded unchanged.',
    same: [''],
  }),
  ...each(['use-gzip', 'gzip-level', 'gzip-types', 'enable-brotli', 'brotli-level', 'brotli-types'], {
    verdict: 'changed',
    text: 'Routers do not compress responses. Compress them in the application.',
    same: ['false'],
  }),
  ...each(['log-format-upstream', 'log-format-escape-json', 'access-log-path', 'disable-access-log'], {
    verdict: 'changed',
    text: 'Routers have a log format of their own.',
  }),
  ...each(['allow-snippet-annotations', 'annotations-risk-level', 'strict-validate-path-type'], {
    verdict: 'honored',
    text: 'Tidegate never uses snippets, and checks all paths and annotations.',
  }),
  ...each(['worker-processes', 'max-worker-connections', 'worker-shutdown-timeout', 'keep-alive'], {
    verdict: 'changed',
    text: 'Routers use their own settings.',
  }),
  ...each(['upstream-keepalive-connections', 'upstream-keepalive-timeout', 'upstream-keepalive-requests'], {
    verdict: 'changed',
    text: 'Connections to backends are kept, with settings of the router.',
  }),
  ...each(['client-header-buffer-size', 'large-client-header-buffers', 'http2-max-field-size'], {
    verdict: 'changed',
    text: 'Routers use their own limits for headers of requests.',
  }),
  ...each(['enable-underscores-in-headers', 'ignore-invalid-headers'], {
    verdict: 'changed',
    text: 'Headers whose names contain other characters than letters, digits and hyphens do not reach backends.',
    same: ['false'],
  }),
  ...each(['enable-opentelemetry', 'enable-opentracing'], {
    verdict: 'changed',
    text: 'Routers do not send traces.',
    same: ['false'],
  }),
]);
