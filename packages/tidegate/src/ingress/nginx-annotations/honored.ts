import {
  BACKEND_PROTOCOL_ANNOTATION,
  BALANCE_ANNOTATION,
  CONNECT_TIMEOUT_ANNOTATION,
  MAX_BODY_SIZE_ANNOTATION,
  READ_TIMEOUT_ANNOTATION,
} from '../../api/index.ts';

/** An annotation that Tidegate honors. */
export interface Honored {
  /** The annotation of Tidegate with the same meaning. If an Ingress has both, this one wins. */
  readonly as?: string;
  /** What Tidegate does; a sentence. */
  readonly does: string;
  /** If it protects something: what it asks for. It is refused with other prefixes; see `refused.ts`. */
  readonly guards?: string;
}

const USERS = 'a user name and a password';
const SERVER = 'authentication by another service';
const CERTIFICATES = 'client certificates';
const RATE = 'a rate limit';
const SOURCES = 'restrictions by the address of the client';

export const HONORED: ReadonlyMap<string, Honored> = new Map<string, Honored>([
  [
    'backend-protocol',
    {
      as: BACKEND_PROTOCOL_ANNOTATION,
      does: 'Sets the protocol of the backend: HTTP (default), HTTPS, GRPC or GRPCS. FCGI and AUTO_HTTP are not supported.',
    },
  ],
  [
    'proxy-ssl-secret',
    {
      does: 'Names the Secret for backends with HTTPS or GRPCS, in the namespace of the Ingress: the router shows them the certificate in tls.crt and tls.key, and ca.crt has their authorities. Each of both may be absent.',
    },
  ],
  [
    'proxy-ssl-verify',
    {
      guards: 'a check of the certificate of the backend',
      does: 'With on, requests are sent only to backends with a certificate of an authority in proxy-ssl-secret and with the right name. Otherwise the response is 502. The default is off.',
    },
  ],
  [
    'proxy-ssl-verify-depth',
    {
      does: 'Sets how many authorities may be between the certificate of the backend and a root: 1 to 20. The default is 1.',
    },
  ],
  [
    'proxy-ssl-name',
    {
      does: 'Sets the name that the certificate of the backend must have. The default is SERVICE.NAMESPACE.svc.',
    },
  ],
  ['proxy-ssl-server-name', { does: 'With on, the TLS handshake has this name (SNI). The default is off.' }],
  ['proxy-ssl-protocols', { does: 'Lists the versions of TLS: TLSv1.2, TLSv1.3 or both (default).' }],
  ['proxy-ssl-ciphers', { does: 'Lists the ciphers of TLS 1.2, in the format of OpenSSL.' }],
  [
    'load-balance',
    {
      as: BALANCE_ANNOTATION,
      does: 'Sets how endpoints are chosen: round_robin (default), ewma or least_conn.',
    },
  ],
  [
    'service-upstream',
    {
      does: 'With true, requests are sent to the ClusterIP of the Service, and not to its endpoints. A headless Service has no ClusterIP: its endpoints are used.',
    },
  ],
  [
    'enable-access-log',
    { does: 'With false, requests for the paths are not in the access log, if the router writes one.' },
  ],
  ['proxy-body-size', { as: MAX_BODY_SIZE_ANNOTATION, does: 'Limits request bodies.' }],
  ['proxy-connect-timeout', { as: CONNECT_TIMEOUT_ANNOTATION, does: 'Limits the time to connect.' }],
  [
    'proxy-read-timeout',
    { as: READ_TIMEOUT_ANNOTATION, does: 'Limits the time without data of the backend.' },
  ],
  [
    'proxy-send-timeout',
    { does: 'Limits the time in which the backend reads nothing of a request. A number means seconds.' },
  ],
  [
    'proxy-next-upstream',
    {
      does: 'Sets after which failures another endpoint gets a request: error, timeout, invalid_header (like error), http_500, http_502, http_503, http_504, http_403, http_404, http_429, non_idempotent or off. The default is error timeout. Statuses and non_idempotent do not apply to gRPC.',
    },
  ],
  [
    'proxy-next-upstream-tries',
    { does: 'Limits how many endpoints get a request. The default is 3; 0 and numbers above 10 mean 10.' },
  ],
  ['proxy-next-upstream-timeout', { does: 'Limits the time in which further endpoints get a request.' }],
  [
    'proxy-buffer-size',
    { does: 'Above 16k, backends may send heads of responses with up to 128 KiB; otherwise up to 16 KiB.' },
  ],
  ['proxy-http-version', { does: 'Backends get HTTP/1.1. Only 1.1 is accepted.' }],
  ['connection-proxy-header', { does: 'Connections to backends are kept. Only keep-alive is accepted.' }],
  [
    'proxy-buffering',
    {
      does: 'The value is checked. Responses are always forwarded as they arrive, at the pace of the client.',
    },
  ],
  [
    'proxy-request-buffering',
    {
      does: 'The value is checked. Bodies are forwarded as they arrive; up to 64 KiB are kept if the request may be sent again.',
    },
  ],
  ...['proxy-buffers-number', 'proxy-busy-buffers-size', 'proxy-max-temp-file-size'].map(
    (name): [string, Honored] => [
      name,
      { does: 'The value is checked. Responses are not buffered, so there is nothing to limit.' },
    ],
  ),
  [
    'client-body-buffer-size',
    { does: 'The value is checked. Bodies are not buffered beyond 64 KiB, so there is nothing to limit.' },
  ],
  [
    'enable-rewrite-log',
    { does: 'The value is checked. Tidegate has no log of rewrites; use tidegate trace.' },
  ],
  [
    'http2-push-preload',
    { does: 'The value is checked. Headers Link are forwarded; browsers have removed HTTP/2 push.' },
  ],
  [
    'canary',
    {
      does: 'With true, the backends get some requests of the same paths of another Ingress of the namespace, whose other annotations apply. A path has one canary.',
    },
  ],
  [
    'canary-by-header',
    { does: 'Requests with this header and the value always go to the canary, with never they do not.' },
  ],
  [
    'canary-by-header-value',
    { does: 'Sets the value that sends requests to the canary, in place of always.' },
  ],
  [
    'canary-by-header-pattern',
    { does: 'Requests whose header matches this regular expression, in linear time, go to the canary.' },
  ],
  ['canary-by-cookie', { does: 'Like canary-by-header, with a cookie. A header wins.' }],
  ['canary-weight', { does: 'Sets how many of canary-weight-total other requests go to the canary.' }],
  ['canary-weight-total', { does: 'Sets the sum of the weights. The default is 100.' }],
  [
    'affinity',
    {
      does: 'With cookie, a client keeps its endpoint as long as it exists, also if the number of endpoints changes.',
    },
  ],
  [
    'affinity-mode',
    { does: 'The value is checked. A client keeps its endpoint with balanced and persistent.' },
  ],
  [
    'affinity-canary-behavior',
    {
      does: 'With sticky (default), a client keeps its endpoint of a backend or of its canary; with legacy, it does not.',
    },
  ],
  ['session-cookie-name', { does: 'Sets the name of the cookie. The default is INGRESSCOOKIE.' }],
  [
    'session-cookie-path',
    {
      does: 'Sets the path of the cookie. The default is the path of the rule, or / if it is a regular expression.',
    },
  ],
  ['session-cookie-domain', { does: 'Sets the domain of the cookie.' }],
  ['session-cookie-expires', { does: 'Sets after how many seconds the cookie expires, as a date.' }],
  ['session-cookie-max-age', { does: 'Sets after how many seconds the cookie expires.' }],
  ['session-cookie-samesite', { does: 'Sets the attribute SameSite: None, Lax or Strict.' }],
  [
    'session-cookie-conditional-samesite-none',
    { does: 'Leaves out SameSite=None for older browsers that do not know it.' },
  ],
  ['session-cookie-secure', { does: 'Sets the attribute Secure. By default, it is set over HTTPS only.' }],
  [
    'session-cookie-change-on-failure',
    { does: 'With true, a client whose endpoint does not answer keeps the endpoint that does.' },
  ],
  [
    'upstream-hash-by',
    {
      does: 'Requests with the same key go to the same endpoint. The key may contain $host, $request_uri, $uri, $args, $scheme, $remote_addr, $request_method, $http_NAME, $cookie_NAME and $arg_NAME. A cookie of affinity wins.',
    },
  ],
  [
    'upstream-hash-by-subset',
    { does: 'With true, requests with the same key go to one of several endpoints.' },
  ],
  ['upstream-hash-by-subset-size', { does: 'Sets how many endpoints that are. The default is 3.' }],
  ['allowlist-source-range', { guards: SOURCES, does: 'Other clients get the response 403.' }],
  [
    'whitelist-source-range',
    { guards: SOURCES, does: 'The older name of allowlist-source-range, which wins if an Ingress has both.' },
  ],
  [
    'denylist-source-range',
    { guards: SOURCES, does: 'These clients get the response 403, also if an allow list has them.' },
  ],
  [
    'auth-type',
    {
      guards: USERS,
      does: 'With basic, clients must send the name and password of a user. Digest authentication is not supported.',
    },
  ],
  [
    'auth-secret',
    {
      guards: USERS,
      does: 'Names the Secret with the users, in the namespace of the Ingress. Hashes are bcrypt with a cost of at most 12, apr1, SHA-256 or SHA-512 crypt, {SHA} or {SSHA}.',
    },
  ],
  [
    'auth-secret-type',
    {
      guards: USERS,
      does: 'With auth-file (default), the key auth has lines of htpasswd. With auth-map, each key is a user.',
    },
  ],
  ['auth-realm', { guards: USERS, does: 'Sets the text that browsers show to users.' }],
  [
    'auth-tls-secret',
    {
      guards: CERTIFICATES,
      does: 'Names the Secret with the authorities of client certificates, in the namespace of the Ingress: its key ca.crt has certificates in PEM, and ca.crl, which is optional, lists of revoked ones. Applies to all paths of the hosts, also of other Ingresses.',
    },
  ],
  [
    'auth-tls-verify-client',
    {
      guards: CERTIFICATES,
      does: 'With on (default), clients without a valid certificate get the response 400. With optional, a client may have none. With optional_no_ca, its authority may be unknown too. With off, clients are not asked for one.',
    },
  ],
  [
    'auth-tls-verify-depth',
    {
      guards: CERTIFICATES,
      does: 'Sets how many authorities may be between a certificate and a root: 0 to 20. The default is 1.',
    },
  ],
  [
    'auth-tls-error-page',
    {
      guards: CERTIFICATES,
      does: 'Redirects clients without a valid certificate to this URL with status 302.',
    },
  ],
  [
    'auth-tls-pass-certificate-to-upstream',
    {
      guards: CERTIFICATES,
      does: 'With true, backends get the certificate in the header ssl-client-cert, URL-encoded.',
    },
  ],
  [
    'auth-tls-match-cn',
    {
      guards: CERTIFICATES,
      does: 'A regular expression that begins with CN=. Clients whose subject does not match it from a common name on get the response 403.',
    },
  ],
  [
    'auth-url',
    {
      guards: SERVER,
      does: 'Asks this server about each request: with 2xx the client is served, 401 and 403 are its response, and in all other cases, also without an answer, the response is 500. The host may be $host: then the route of the host for this path is asked. Loopback and link-local addresses are refused.',
    },
  ],
  ['auth-method', { guards: SERVER, does: 'Sets the method of these requests. The default is GET.' }],
  [
    'auth-signin',
    {
      guards: SERVER,
      does: 'Redirects clients to this URL with status 302 in place of the response 401. The argument rd has the URL of the request, unless it is written.',
    },
  ],
  ['auth-signin-redirect-param', { guards: SERVER, does: 'Sets the name of this argument.' }],
  [
    'auth-response-headers',
    {
      guards: SERVER,
      does: 'Lists headers of the server that the backend gets. Clients cannot send them. Headers that the router sets itself are refused.',
    },
  ],
  [
    'auth-proxy-set-headers',
    {
      guards: SERVER,
      does: 'Names a ConfigMap in the namespace of the Ingress with headers that the server gets. Variables and headers that the router sets itself are refused. Without a valid ConfigMap, the response is 503.',
    },
  ],
  [
    'auth-request-redirect',
    { guards: SERVER, does: 'Sets the header X-Auth-Request-Redirect that the server gets.' },
  ],
  [
    'auth-always-set-cookie',
    {
      guards: SERVER,
      does: 'With true, cookies of the server are added to responses with every status. Otherwise not to errors.',
    },
  ],
  [
    'auth-cache-key',
    {
      guards: SERVER,
      does: 'Keeps the answers of the server for requests of the same path with the same key, in the memory of each router. The key may contain the variables of upstream-hash-by and $remote_user.',
    },
  ],
  [
    'auth-cache-duration',
    {
      guards: SERVER,
      does: 'Sets for how long, by status. The default is 200 202 401 5m. Headers of the server that limit caching win.',
    },
  ],
  ['auth-keepalive', { guards: SERVER, does: 'Sets how many connections to the server are kept.' }],
  [
    'auth-keepalive-requests',
    { guards: SERVER, does: 'Sets how many requests a connection is used for. The default is 1000.' },
  ],
  [
    'auth-keepalive-timeout',
    { guards: SERVER, does: 'Sets for how many seconds an idle connection is kept. The default is 60.' },
  ],
  [
    'auth-keepalive-share-vars',
    { guards: SERVER, does: 'The value is checked. Tidegate has no variables to share.' },
  ],
  [
    'satisfy',
    {
      guards: 'a combination of restrictions',
      does: 'With any, clients must be in the allow list or authenticate; with all (default), both.',
    },
  ],
  [
    'limit-rps',
    { guards: RATE, does: 'Limits the requests of a client in a second. Others get the response 503.' },
  ],
  ['limit-rpm', { guards: RATE, does: 'Limits the requests of a client in a minute.' }],
  ['limit-connections', { guards: RATE, does: 'Limits the requests of a client at the same time.' }],
  [
    'limit-burst-multiplier',
    { guards: RATE, does: 'Sets how many times the limit a client can send at once. The default is 5.' },
  ],
  ['limit-allowlist', { guards: RATE, does: 'Clients in these networks have no limit of requests.' }],
  ['limit-whitelist', { guards: RATE, does: 'The older name of limit-allowlist, which wins.' }],
  ['limit-rate', { guards: RATE, does: 'Limits how fast a response is sent, in KiB per second.' }],
  ['limit-rate-after', { guards: RATE, does: 'Sends so many KiB of a response without this limit.' }],
  [
    'enable-cors',
    { does: 'Lets browsers use the paths from other sites, and answers their preflight requests.' },
  ],
  [
    'cors-allow-origin',
    {
      does: 'Lists these sites: * (default), or for example https://a.example.com and https://*.example.com.',
    },
  ],
  ['cors-allow-methods', { does: 'Sets the header Access-Control-Allow-Methods.' }],
  ['cors-allow-headers', { does: 'Sets the header Access-Control-Allow-Headers.' }],
  ['cors-allow-credentials', { does: 'With false, browsers send no cookies. The default is true.' }],
  ['cors-expose-headers', { does: 'Sets the header Access-Control-Expose-Headers.' }],
  ['cors-max-age', { does: 'Sets the header Access-Control-Max-Age. The default is 1728000 seconds.' }],
  ['upstream-vhost', { does: 'Sets the header Host that backends get. Variables are not supported.' }],
  [
    'permanent-redirect',
    { does: 'Redirects all requests. The target may contain variables, for example $request_uri.' },
  ],
  ['permanent-redirect-code', { does: 'Sets the status: 301 (default), 302, 303, 307 or 308.' }],
  ['temporal-redirect', { does: 'Like permanent-redirect, and wins if an Ingress has both.' }],
  ['temporal-redirect-code', { does: 'Sets the status: 302 (default), 301, 303, 307 or 308.' }],
  [
    'ssl-redirect',
    { does: 'Redirects to HTTPS with status 308 if spec.tls has the host. The default is false.' },
  ],
  [
    'ssl-ciphers',
    {
      does: 'Sets the ciphers of TLS 1.2 for all paths of the hosts, in the format of OpenSSL without @. Of several Ingresses, the oldest decides.',
    },
  ],
  [
    'ssl-prefer-server-ciphers',
    {
      does: 'Sets whose order of ciphers decides for the hosts: that of the router, or with false that of clients.',
    },
  ],
  ['force-ssl-redirect', { does: 'Redirects to HTTPS with status 308.' }],
  ['preserve-trailing-slash', { does: 'Redirects to HTTPS always keep the trailing slash.' }],
  [
    'from-to-www-redirect',
    { does: 'Redirects www.example.com to the host example.com, or the other way, with status 308.' },
  ],
  [
    'server-alias',
    {
      does: 'Serves the first host of the Ingress under other names, which must be free: at most 30, and their paths count. Regular expressions are not supported.',
    },
  ],
  [
    'mirror-target',
    {
      does: 'Sends a copy of each request that is forwarded to this URL. Answers are not used, and clients do not wait for them. Loopback and link-local addresses are refused.',
    },
  ],
  ['mirror-host', { does: 'Sets the header Host of the copies. The default is the host of mirror-target.' }],
  [
    'mirror-request-body',
    {
      does: 'With off, copies have no body. With on (default), requests with a body of more than 1 MiB or of unknown length are not copied.',
    },
  ],
  [
    'default-backend',
    {
      does: 'Names a Service, whose first port gets the requests if a backend has no endpoints, and those for errors.',
    },
  ],
  [
    'custom-http-errors',
    {
      does: 'Lists statuses: 403, 404, 429, 500, 502, 503 and 504. Clients get the response of default-backend to a request for / in place of such a response. Responses with other statuses are not replaced. It needs default-backend.',
    },
  ],
  [
    'disable-proxy-intercept-errors',
    {
      does: 'With true, responses are not replaced; default-backend gets requests if a backend has no endpoints.',
    },
  ],
  [
    'custom-headers',
    {
      does: 'Names a ConfigMap in the namespace of the Ingress with headers that all responses get. The annotation tidegate.io/allowed-response-headers of the IngressClass lists the names that are allowed; by default none is. Variables are not supported. Without a valid ConfigMap, the response is 503.',
    },
  ],
  [
    'proxy-redirect-from',
    {
      does: 'Sets what proxy-redirect-to replaces at the beginning of the headers Location and Refresh of backends, or a regular expression after ~ or ~*, in linear time. With off and default, nothing is replaced.',
    },
  ],
  [
    'proxy-redirect-to',
    { does: 'Sets the replacement. It may contain the variables of permanent-redirect, and $1 to $9.' },
  ],
  [
    'proxy-cookie-domain',
    { does: 'Replaces the domain in cookies of backends: two texts, or a regular expression and a text.' },
  ],
  [
    'proxy-cookie-path',
    { does: 'Replaces the beginning of the path in cookies of backends, in the same way.' },
  ],
  ['app-root', { does: 'Redirects requests for / of the host with status 302.' }],
  [
    'use-regex',
    {
      does: 'All paths of the host become regular expressions without regard to case, in linear time. A host and an Ingress can have 100 of them; rules without a host, none.',
    },
  ],
  [
    'rewrite-target',
    { does: 'Changes the path for the backend. It implies use-regex; $1 to $9 are groups of the path.' },
  ],
  ['x-forwarded-prefix', { does: 'Sends the header X-Forwarded-Prefix, if rewrite-target is set too.' }],
]);
