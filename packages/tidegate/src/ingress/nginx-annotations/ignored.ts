import { BALANCE_ANNOTATION, SSL_REDIRECT_ANNOTATION } from '../../api/index.ts';

/** An annotation that Tidegate does without. */
export interface Ignored {
  /** What happens without it; a sentence. */
  readonly effect: string;
  /** What to do instead; a sentence. */
  readonly instead?: string;
}

const each = (names: readonly string[], effect: string, instead?: string): [string, Ignored][] =>
  names.map((name) => [name, instead === undefined ? { effect } : { effect, instead }]);

const OWN_SETTINGS = 'The router uses its own settings.';

export const IGNORED: ReadonlyMap<string, Ignored> = new Map([
  ...each(
    ['rewrite-target', 'app-root', 'x-forwarded-prefix'],
    'Requests reach the backend with the path that the client sent.',
    'Serve the backend below this path.',
  ),
  ...each(
    ['use-regex'],
    'Paths are compared as text, and paths with characters of regular expressions are not served.',
    'Write paths of type Prefix or Exact.',
  ),
  ...each(
    ['ssl-redirect'],
    'Requests over HTTP are served.',
    `To redirect them, write ${SSL_REDIRECT_ANNOTATION}: "true".`,
  ),
  ...each(
    [
      ...['permanent-redirect', 'permanent-redirect-code', 'temporal-redirect', 'temporal-redirect-code'],
      ...['from-to-www-redirect', 'relative-redirects', 'use-port-in-redirects', 'preserve-trailing-slash'],
    ],
    'Requests are not redirected, but forwarded to the backend.',
    'Redirect in the application.',
  ),
  ...each(
    [
      ...['canary', 'canary-by-cookie', 'canary-by-header', 'canary-by-header-pattern'],
      ...['canary-by-header-value', 'canary-weight', 'canary-weight-total', 'affinity-canary-behavior'],
    ],
    'The Ingress is served like any other: the oldest Ingress gets all requests for a path.',
    'Delete the canary Ingress, or give it a host of its own.',
  ),
  ...each(
    [
      ...['enable-cors', 'cors-allow-origin', 'cors-allow-methods', 'cors-allow-headers'],
      ...['cors-allow-credentials', 'cors-expose-headers', 'cors-max-age'],
    ],
    'Responses get no CORS headers, so browsers do not show them to other sites.',
    'Set the headers in the application.',
  ),
  ...each(['custom-headers'], 'Responses get no additional headers.', 'Set them in the application.'),
  ...each(
    [
      ...['affinity', 'affinity-mode', 'session-cookie-name', 'session-cookie-path', 'session-cookie-domain'],
      ...['session-cookie-expires', 'session-cookie-max-age', 'session-cookie-samesite'],
      ...['session-cookie-secure', 'session-cookie-change-on-failure'],
      ...['session-cookie-conditional-samesite-none'],
      ...['upstream-hash-by', 'upstream-hash-by-subset', 'upstream-hash-by-subset-size'],
    ],
    'Any endpoint can get the requests of a client.',
    'Share sessions among the pods of the application.',
  ),
  ...each(
    ['load-balance'],
    'Requests are distributed round robin.',
    `For the least number of connections, write ${BALANCE_ANNOTATION}: leastConnections.`,
  ),
  ...each(['service-upstream'], 'Requests are sent to the endpoints of the Service, not to its ClusterIP.'),
  ...each(
    ['server-alias'],
    'The other names are not served.',
    'Write a rule for each of them in the Ingress.',
  ),
  ...each(['upstream-vhost'], 'The backend gets the host that the client sent.'),
  ...each(
    ['default-backend', 'custom-http-errors', 'disable-proxy-intercept-errors'],
    'Responses of backends are forwarded unchanged, and the router answers errors itself.',
  ),
  ...each(['mirror-target', 'mirror-host', 'mirror-request-body'], 'Requests are not mirrored.'),
  ...each(
    [
      ...['proxy-ssl-secret', 'proxy-ssl-name', 'proxy-ssl-server-name', 'proxy-ssl-protocols'],
      ...['proxy-ssl-ciphers', 'proxy-ssl-verify-depth'],
    ],
    'Connections to backends over HTTPS use no client certificate and the settings of the router.',
  ),
  ...each(['ssl-ciphers', 'ssl-prefer-server-ciphers', 'http2-push-preload'], OWN_SETTINGS),
  ...each(
    [
      ...['client-body-buffer-size', 'proxy-buffer-size', 'proxy-buffering', 'proxy-buffers-number'],
      ...['proxy-busy-buffers-size', 'proxy-max-temp-file-size', 'proxy-request-buffering'],
      ...['proxy-http-version', 'proxy-send-timeout', 'connection-proxy-header'],
      ...['proxy-next-upstream', 'proxy-next-upstream-timeout', 'proxy-next-upstream-tries'],
    ],
    OWN_SETTINGS,
  ),
  ...each(
    ['proxy-cookie-domain', 'proxy-cookie-path', 'proxy-redirect-from', 'proxy-redirect-to'],
    'Headers of responses are forwarded unchanged.',
  ),
  ...each(['fastcgi-index', 'fastcgi-params-configmap'], 'FastCGI is not supported.'),
  ...each(['enable-access-log', 'enable-rewrite-log'], 'The access log is an option of the router.'),
  ...each(
    [
      ...['enable-opentelemetry', 'opentelemetry-operation-name', 'opentelemetry-trust-incoming-span'],
      ...['enable-opentracing', 'opentracing-trust-incoming-span'],
    ],
    'The router sends no traces. It forwards the headers of the client unchanged.',
  ),
]);
