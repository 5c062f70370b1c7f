// docs/reference/ingress-nginx-annotations.md, from the tables in packages/tidegate/src/ingress/nginx-annotations.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists the annotations of ingress-nginx, with the prefix \`nginx.ingress.kubernetes.io/\`, and what Tidegate does with
them on Ingresses of its classes. Ingresses that an ingress-nginx serves are not affected.`;

const HONORED_TEXT = `Tidegate does what they ask for, as data of a route: no text of an annotation becomes configuration of nginx. If there is an
annotation of Tidegate with the same meaning and an Ingress has both, the annotation of Tidegate wins.

- An invalid value is rejected by admission. If an Ingress has one nevertheless, all requests for its paths get the response
  503, and for its hosts if the annotation protects something. The event has the reason \`InvalidAnnotation\`.
- A provisioner that cannot do what an annotation asks for, for example Octavia, does not serve the host. The Ingress has an event
  with the reason \`NotSupported\`.
- \`tidegate trace\` shows the policies of a route; \`--client ADDRESS\` shows what an allow or deny list does, and
  \`--without-certificate\` what happens to clients without a client certificate.

### Paths that are regular expressions

As in ingress-nginx, one Ingress with \`use-regex: "true"\` or \`rewrite-target\` makes regular expressions of all paths of its hosts,
also of other Ingresses, which get an event with the reason \`PathsAreRegex\`. The expressions ignore case, match everything that
begins with them (\`Exact\` has no effect), and the longest text is tried first.

Expressions take linear time. Look-ahead and look-behind, back-references, atomic groups and possessive repetitions are refused, and
so are expressions with more than 1000 characters, or with more than 400 steps when their repetitions are written out. Admission
rejects them; if an Ingress has one nevertheless, the path is not served, and the event has the reason \`InvalidPath\`.

Unlike ingress-nginx, Tidegate compares and rewrites the path as the client has sent it: \`%2F\` stays \`%2F\`. A rewrite that results in
a path with dot segments gets the response 400.

### Users and passwords

\`auth-type: basic\` with \`auth-secret\` names a Secret in the namespace of the Ingress. The router may read only the Secrets that its
Ingresses name. Hashes are those of \`htpasswd -B\` (bcrypt with a cost of at most 12), \`htpasswd -m\`, \`htpasswd -s\` and
\`openssl passwd -5\` or \`-6\`; users with another hash cannot authenticate. Without the Secret, or if no user in it can authenticate, all
requests for the paths get the response 503. An event of the Ingress (\`UsersNotFound\`, \`InvalidUsers\`), the status of the L7Router, the
log of the router and \`tidegate trace\` show why. If the users of a namespace are too large for a router, the event says so
(\`InvalidUsers\`, \`MemoryExceeded\`). A change of the Secret applies at once.

Right passwords are remembered in the memory of the router. Others use at most a quarter of the CPU time of a worker; beyond it, the
response is 503 with Retry-After. As with ingress-nginx, backends do not get the header Authorization.

### Client certificates

\`auth-tls-secret\` names a Secret in the namespace of the Ingress. Its key \`ca.crt\` has certificates of authorities in PEM, and
\`ca.crl\`, which is optional, lists of revoked certificates of all of them. The router may read only the Secrets that its Ingresses
name. Without the Secret, or if anything in these keys cannot be read, all requests for the hosts get the response 503. An event of
the Ingress (\`AuthoritiesNotFound\`, \`InvalidAuthorities\`), the status of the L7Router and the log of the router show why. A change
of the Secret applies at once, also to open connections.

As with ingress-nginx, all paths of the hosts need a certificate, also paths of other Ingresses. If Ingresses of a host have different
annotations, each keeps its own, and Ingresses without them get those of the oldest one. A connection has the authorities of one Secret:
paths with another one get the response 421, and the younger Ingress has an event (\`AuthoritiesConflict\`).

A TLS handshake asks for a certificate if a path of the server name (SNI) needs one, and each request is checked. Requests for another
host than the server name of their connection get the response 421, so clients open another connection. Requests over plain HTTP get
the response 403, unless they are redirected or \`auth-tls-verify-client\` is not \`on\`. TLS sessions of such hosts are not resumed.

Backends get the headers \`ssl-client-verify\`, \`ssl-client-subject-dn\`, \`ssl-client-issuer-dn\` and, if an annotation asks for it,
\`ssl-client-cert\`. Clients cannot set them. Unlike ingress-nginx, \`auth-tls-match-cn\` is compared from a common name on: an
organization with the name \`CN=admin\` does not match.

### TLS to backends

The annotations \`proxy-ssl-*\` apply to backends with the protocol HTTPS or GRPCS. \`proxy-ssl-secret\` names a Secret in the namespace of
the Ingress; the router may read only the Secrets that its Ingresses name. Without the Secret, if its keys cannot be read, or if
\`proxy-ssl-verify\` is \`on\` and it has no \`ca.crt\`, all requests for the paths get the response 503. An event of the Ingress
(\`BackendCertificateNotFound\`, \`InvalidBackendCertificate\`) shows why. A change of the Secret applies to new connections.

A backend whose certificate is not valid gets no request; if no other endpoint can, the response is 502. Unlike with ingress-nginx, the
annotations also apply without \`proxy-ssl-secret\`, and the default of \`proxy-ssl-name\` is the name of the Service. With nginx, the agent of the
router does the TLS handshake: requests with methods that are not idempotent are not sent to another endpoint after a failed handshake,
\`proxy-connect-timeout\` does not apply (the default of the router does), and an endpoint that does not complete the connection and the
handshake in time gives the response 502, where the embedded data plane gives 504.

### Servers that authenticate clients

With \`auth-url\`, the router asks a server about each request, before it forwards it, with the headers of the client and with
\`X-Original-URL\`, \`X-Original-Method\`, \`X-Auth-Request-Redirect\`, \`X-Real-IP\` and \`X-Sent-From\`. The body of the request is not
sent. A status of 2xx lets the client pass, 401 and 403 become the response of the client, and everything else is the response 500:
another status, an answer that is not valid, no answer within the timeouts of the path, a name that cannot be resolved. The router logs
the reason. If the name leads back to the router, requests end after three rounds. The same applies to \`mirror-target\`.

The host is a DNS name, an address, or \`$host\`. Routers resolve names themselves. Loopback, link-local and multicast addresses are
refused, also if a name resolves to them, so that an Ingress cannot use the router to reach services of its node. With \`$host\`, for
example \`https://$host/oauth2/auth\`, the router asks the backend of its own route for this path, without a detour through the network;
of the policies of that route, only its rewrite and \`upstream-vhost\` apply. As with ingress-nginx, the certificate of the server is
not checked.

Backends get the headers in \`auth-response-headers\` from the server only, never from a client. With \`auth-cache-key\`, answers are kept
for each path of an Ingress. The parts of a key are compared one by one, and \`$remote_user\` stands for the whole header Authorization.
Answers that set cookies, or with Expires or Vary, are not kept.

\`auth-proxy-set-headers\` names a ConfigMap in the namespace of the Ingress, whose keys are headers that the server gets in place of those of
the client. Headers that belong to the connection or that the router sets itself are refused, for example Host and \`X-Forwarded-For\`.
The rules for values, and what happens without the ConfigMap, are those of the next section.

### Headers of responses

\`custom-headers\` names a ConfigMap in the namespace of the Ingress. Its keys are headers that all responses for the paths get, also those of
the router itself; they replace headers of backends. Administrators list the names that they allow on the IngressClass:

\`\`\`sh
kubectl annotate ingressclass nginx tidegate.io/allowed-response-headers=X-Frame-Options,Strict-Transport-Security
\`\`\`

This is what \`global-allowed-response-headers\` is for ingress-nginx. By default none is allowed, and admission rejects the annotation.
Headers that belong to the connection, and Content-Encoding, Content-Range, Content-Type, Date, Location, Server, Set-Cookie, Vary and
WWW-Authenticate, cannot be allowed. Values are printable ASCII. Unlike with ingress-nginx, they contain no variables: a value with \`$\` is
refused. CORS headers of annotations win.

The router may read only the ConfigMaps that its Ingresses name. Without the ConfigMap, or if anything in it is not allowed, all requests for
the paths get the response 503, as with ingress-nginx. An event of the Ingress (\`HeadersNotFound\`, \`InvalidHeaders\`), the status of the
L7Router, the log of the router and \`tidegate trace\` show why. A change of the ConfigMap or of the IngressClass applies at once.

### Other sites (CORS)

The router answers preflight requests (OPTIONS) of allowed origins with status 204 before it applies lists, limits and passwords, as
ingress-nginx does. Its headers replace those of the backend. Unlike ingress-nginx, an origin must match as a whole:
\`https://*.example.com\` stands for one label, with scheme and port as written.

### Timeouts and retries

The annotations \`proxy-next-upstream*\` decide when another endpoint gets a request. Each endpoint gets it once, and a client gets the answer of
the last one. A body that was sent to an endpoint is sent to another one only if it has at most 64 KiB and a known length. If the
time of \`proxy-next-upstream-timeout\` is over after a status, nginx answers with this status and a text of the router. Requests and
responses are not buffered, so annotations about buffers are only checked. Unlike other invalid values, invalid values of timeouts,
retries and buffers are ignored, with an event: the defaults apply.

### Canaries

An Ingress with \`canary: "true"\` gives some requests of the same paths of another Ingress of the namespace to its own backends. The
header decides first, then the cookie, then the weight. As in ingress-nginx, all other annotations of the canary have no effect, and a path
has one canary, of the oldest Ingress. A canary without endpoints gets no requests. Unlike in ingress-nginx, a canary with lists, users or
limits gets no requests unless the other Ingress has the same ones. Without another Ingress, its paths get the response 404. The event has
the reason \`CanaryNotServed\`.

### Clients that keep their endpoint

With \`affinity: cookie\`, the cookie contains a hash of the endpoint, so all pods of a router agree on it, and a client keeps its endpoint when
others come and go. If it is gone, the client gets another one, and another cookie. If it does not answer, another endpoint gets the request,
and the client keeps its cookie unless \`session-cookie-change-on-failure\` is true. With \`upstream-hash-by\`, few keys move when endpoints come
and go. \`load-balance: ewma\` compares the times of two random endpoints; each worker of nginx has its own.

### Errors of backends

With \`default-backend\` and \`custom-http-errors\`, a response of a backend with a listed status, and 502, 503 or 504 of the router because no
endpoint answers, are replaced by the response of the Service in \`default-backend\`, with its status. The Service gets a request
for \`/\` without a body, with the method GET or HEAD and the headers \`X-Code\`, \`X-Format\`, \`X-Original-URI\`, \`X-Namespace\`,
\`X-Ingress-Name\`, \`X-Service-Name\` and \`X-Service-Port\`. Unlike with ingress-nginx, only 403, 404, 429, 500, 502, 503 and 504 can be listed,
and responses of the router by other policies, for example of allow lists, are not replaced. Responses of gRPC are not replaced. If a
backend has no endpoints, the Service gets the requests as they are, with these headers and the code 503. With nginx, if the last endpoint
answers with a status that only \`proxy-next-upstream\` lists, the client gets this status with a text of the router, not the response of
the endpoint.

### Copies of requests

With \`mirror-target\`, the router sends a copy of each request that it forwards, with the headers that the backend gets. It does so after
lists, limits and authentication, and clients never wait for it. Copies are not sent again, and not for gRPC and WebSocket. To copy a body,
the router reads it before it contacts the backend. Unlike with ingress-nginx, requests are not copied if their body has more than 1 MiB
or an unknown length; with nginx and HTTP/2, this includes requests without Content-Length other than GET and HEAD. A router has at
most 256 copies on their way, with nginx in each worker; it does not send others, and logs those that fail. The same addresses are refused as for \`auth-url\`.

### Limits of requests

Limits apply to each client by its address, to all paths of the Ingress together, and in each pod of a router: with \`replicas: 3\`, a client
can send up to three times as many requests. The workers of one nginx share them. As in nginx, a client can send the burst at once
(\`limit-burst-multiplier\` times the limit), and requests beyond it get the response 503. Requests that an allow or deny list refuses do
not count.

### Paths with limited access

A backend may read \`//admin\` or \`/%61dmin\` as \`/admin\`. If a host has a route with a list, users or a limit of requests, each path
is compared a second time, decoded and without empty segments, with the paths of the routes in the same form, and their limits apply.
Some servers also remove path parameters (\`/admin;x\`), read backslashes as slashes, decode twice (\`/%2561dmin\`), or take the beginning
for a host (\`//x/admin\`). If limits would apply only to a path that such a server reads, if different limits apply, or if it is unclear
what a server reads, the response is 400. Lists are compared with the address that connects to the router.

If a path or default backend of such an Ingress is not served, because an older Ingress has it with other limits or none, or because the
host has too many paths or is an alias that gives way to rules, all requests for the host get the response 503. On a host with regular
expressions, a path with limited access from an Ingress without them stands for itself. An expression with limited access must not need a
semicolon or a backslash: \`/admin;x\` closes the host, \`/admin(;.*)?\` does not.`;

const REFUSED_TEXT = `They protect something, and Tidegate does not support them yet. Served without them, an Ingress would be open to clients that
it is meant to exclude:

- Admission rejects an Ingress that gets such an annotation.
- If an Ingress has one nevertheless, for example because it is older than Tidegate, all requests for its hosts get the
  response 503. It has an event with the reason \`AccessControlNotSupported\`.
- This includes the paths of other Ingresses of the same host and namespace, which get an event too. A backend may take
  another path than the protected one for the same, for example \`//admin\` or \`/Admin\` for \`/admin\`, and these Ingresses
  would forward it. To keep the other paths available, give them a host of their own.

The message for a snippet names the annotations that do the same as its directives, where they exist: for headers, redirects, refusals, lists of
networks, timeouts and sizes, also in \`if\` and \`location\`. \`tidegate migrate ingress-nginx\` shows it too. Snippets are only read for
this message; nothing of them is ever applied.

They are refused with every prefix, because ingress-nginx can be configured to use another prefix, and because other controllers
use the same names for the same purposes. Unknown names are refused, also with every prefix, if they begin with \`auth-\`,
\`basic-auth-\`, \`jwt-\`, \`limit-\`, \`rate-limit-\` or \`global-rate-limit-\`, end with \`-source-range\`, contain \`snippet\`, \`modsecurity\`
or a word like \`whitelist\` or \`deny-list\`, or have one of the words \`waf\`, \`wafv2\`, \`oauth\`, \`oauth2\`, \`oidc\`, \`mtls\`, \`firewall\` and
\`cidrs\`. Protections of other controllers under other names, for example middlewares and plugins, are not recognized: check
the annotations of an Ingress before you move it to a class of Tidegate.`;

const IGNORED_TEXT = `Tidegate does without them. Admission warns about them, and the Ingress has an event with the reason \`AnnotationIgnored\`. The
same applies to unknown names with the prefix of ingress-nginx.`;

const byName = ([a], [b]) => (a < b ? -1 : 1);

export function ingressNginxPage({ DOCUMENTED, HONORED, REFUSED, IGNORED }) {
  const honored = [...DOCUMENTED].filter((name) => HONORED.has(name)).length;
  const rows = (entries, row) => [...entries].toSorted(byName).map(row);
  return page(
    generatedBy('packages/tidegate/src/ingress/nginx-annotations'),
    '# Annotations of ingress-nginx',
    INTRODUCTION,
    `Of the ${DOCUMENTED.size} annotations that its user guide lists, ${honored} are honored.`,
    '## Honored',
    HONORED_TEXT,
    table(
      ['Annotation', 'What Tidegate does', 'Annotation of Tidegate'],
      rows(HONORED, ([name, { as, does }]) => [code(name), cell(does), as === undefined ? '' : code(as)]),
    ),
    '## Refused',
    REFUSED_TEXT,
    table(
      ['Annotation', 'Asks for', 'Allowed values', 'Instead'],
      rows(REFUSED, ([name, { asks, instead, off }]) => [
        code(name),
        cell(asks),
        off.map(code).join(', '),
        cell(instead),
      ]),
    ),
    '## Ignored',
    IGNORED_TEXT,
    table(
      ['Annotation', 'Without it', 'Instead'],
      rows(IGNORED, ([name, { effect, instead }]) => [code(name), cell(effect), cell(instead)]),
    ),
  );
}
