/**
 * The sections of a RoutePolicy, as data: the fields of each section, and the annotation of ingress-nginx with the same
 * meaning. The schema of the kinds is built from this table, and `ingress/attached-policies` reads objects with it. So a field and
 * its annotation have one grammar. To add a policy, add its fields here.
 */
import { flag, integer, list, object, type Schema, text } from './schema.ts';

/** How the value of a field becomes the value of an annotation. */
export type FieldForm = 'text' | 'flag' | 'number' | 'commas' | 'spaces' | 'pair' | 'choice';

export interface PolicyField {
  readonly annotation: string;
  readonly form: FieldForm;
  readonly schema: Schema;
  /** Of the form `choice`: by value, the annotations. */
  readonly choices?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface PolicySection {
  readonly description: string;
  readonly fields: Readonly<Record<string, PolicyField>>;
  /** It limits which requests are served. Outer and inner levels both apply. */
  readonly guards?: true;
  /** Its fields are inherited one by one. Otherwise the innermost section is used as a whole. */
  readonly byField?: true;
  /** Only for single Ingresses, because it depends on their paths. */
  readonly ingressOnly?: true;
  /** Annotations that the section sets unless a field sets another value. */
  readonly implies?: Readonly<Record<string, string>>;
  /** A section with the same unit is replaced too. Default: the name of the section. */
  readonly unit?: string;
  /** Further annotations of an Ingress that replace the section. */
  readonly replacedBy?: readonly string[];
}

const SHORT = { minLength: 1, maxLength: 253 };
const LONG = { minLength: 1, maxLength: 2_000 };

const words = (annotation: string, description: string): PolicyField => ({
  annotation,
  form: 'text',
  schema: text(description, LONG),
});
const name = (annotation: string, description: string): PolicyField => ({
  annotation,
  form: 'text',
  schema: text(description, SHORT),
});
const duration = (annotation: string, description: string): PolicyField => ({
  annotation,
  form: 'text',
  schema: text(`${description} A number with the unit ms, s, m or h.`, { pattern: '^[0-9]{1,8}(ms|s|m|h)$' }),
});
const size = (annotation: string, description: string): PolicyField => ({
  annotation,
  form: 'text',
  schema: text(`${description} A number of bytes, or a number with the unit k, m or g.`, {
    pattern: '^[0-9]{1,12}[kmg]?$',
  }),
});
const bool = (annotation: string, description: string): PolicyField => ({
  annotation,
  form: 'flag',
  schema: flag(description),
});
const count = (annotation: string, description: string, minimum: number, maximum: number): PolicyField => ({
  annotation,
  form: 'number',
  schema: integer(description, { minimum, maximum }),
});
const entries = (
  annotation: string,
  description: string,
  form: 'commas' | 'spaces' = 'commas',
): PolicyField => ({
  annotation,
  form,
  schema: list(
    description,
    { type: 'string', ...SHORT, pattern: form === 'commas' ? '^[^,]+$' : '^\\S+$' },
    { maxItems: 1_000, 'x-kubernetes-list-type': 'atomic' },
  ),
});
const choice = (
  annotation: string,
  description: string,
  choices: Readonly<Record<string, string | Readonly<Record<string, string>>>>,
): PolicyField => ({
  annotation,
  form: 'choice',
  schema: text(description, { enum: Object.keys(choices) }),
  choices: Object.fromEntries(
    Object.entries(choices).map(([value, written]) => [
      value,
      typeof written === 'string' ? { [annotation]: written } : written,
    ]),
  ),
});
const pair = (annotation: string, description: string): PolicyField => ({
  annotation,
  form: 'pair',
  schema: object(
    description,
    {
      from: text('What is replaced.', { ...LONG, pattern: '^[^\\s;]+$' }),
      to: text('What it is replaced by.', { ...LONG, pattern: '^[^\\s;]+$' }),
    },
    { required: ['from', 'to'] },
  ),
});

const MOST = 1_000_000;

export const POLICY_SECTIONS = {
  access: {
    description: 'Which clients may use the routes, by their address.',
    guards: true,
    fields: {
      allow: entries(
        'allowlist-source-range',
        'IP addresses and networks. If it is not empty, other clients get the response 403.',
      ),
      deny: entries(
        'denylist-source-range',
        'IP addresses and networks of clients that get the response 403.',
      ),
      satisfy: choice(
        'satisfy',
        'All: a client must be allowed and authenticate. Any: one of them is enough; only if no other policy limits access. Default: All.',
        { All: 'all', Any: 'any' },
      ),
    },
  },
  basicAuth: {
    description: 'Clients must send the name and the password of a user.',
    guards: true,
    implies: { 'auth-type': 'basic' },
    fields: {
      secretName: name('auth-secret', 'Secret with the users.'),
      secretType: choice(
        'auth-secret-type',
        'File: the key auth of the Secret has a file of htpasswd. Map: each key is a user. Default: File.',
        { File: 'auth-file', Map: 'auth-map' },
      ),
      realm: { annotation: 'auth-realm', form: 'text', schema: text('Text for users.', { maxLength: 200 }) },
    },
  },
  externalAuth: {
    description: 'Another server decides about each request.',
    guards: true,
    fields: {
      url: words('auth-url', 'URL of the server. With status 2xx, the client is served.'),
      method: name('auth-method', 'Method of the requests to the server. Default: GET.'),
      signinUrl: words('auth-signin', 'URL to which clients are redirected in place of the status 401.'),
      signinRedirectParameter: name('auth-signin-redirect-param', 'Argument with the URL of the request.'),
      responseHeaders: entries('auth-response-headers', 'Headers of the server that backends get.'),
      requestRedirect: words('auth-request-redirect', 'Value of the header X-Auth-Request-Redirect.'),
      cacheKey: words('auth-cache-key', 'Key of kept answers. If absent, answers are not kept.'),
      cacheDurations: entries('auth-cache-duration', 'How long answers are kept, for example "200 401 10m".'),
      keepalive: count('auth-keepalive', 'Connections to the server that are kept.', 0, 1_000),
      keepaliveRequests: count('auth-keepalive-requests', 'Requests on a kept connection.', 0, MOST),
      keepaliveSeconds: count('auth-keepalive-timeout', 'Seconds for which a connection is kept.', 0, 3_600),
      alwaysSetCookie: bool('auth-always-set-cookie', 'Add cookies of the server to all responses.'),
    },
  },
  clientCertificate: {
    description: 'Clients must show a certificate. It applies to all paths of the hosts.',
    guards: true,
    fields: {
      secretName: name('auth-tls-secret', 'Secret with the authorities in the key ca.crt.'),
      verify: choice(
        'auth-tls-verify-client',
        'Required: a valid certificate is needed. Optional: a client may have none. OptionalNoCA: its authority may be unknown. Default: Required.',
        { Required: 'on', Optional: 'optional', OptionalNoCA: 'optional_no_ca' },
      ),
      depth: count(
        'auth-tls-verify-depth',
        'Authorities between a certificate and its root. Default: 1.',
        0,
        20,
      ),
      errorPage: words('auth-tls-error-page', 'URL to which clients without a certificate are redirected.'),
      passToBackend: bool('auth-tls-pass-certificate-to-upstream', 'Backends get the certificate.'),
      subjectPattern: words('auth-tls-match-cn', 'Regular expression for the subject. It begins with CN=.'),
    },
  },
  limits: {
    description: 'How much one client may ask for, by its address. Each Ingress counts on its own.',
    guards: true,
    fields: {
      requestsPerSecond: count('limit-rps', 'Requests of a client in a second.', 1, MOST),
      requestsPerMinute: count('limit-rpm', 'Requests of a client in a minute.', 1, MOST),
      connections: count('limit-connections', 'Requests of a client at the same time.', 1, MOST),
      burstMultiplier: count(
        'limit-burst-multiplier',
        'Burst, as a multiple of the rate. Default: 5.',
        1,
        MOST,
      ),
      exempt: entries('limit-allowlist', 'IP addresses and networks of clients without limits.'),
    },
  },
  https: {
    description: 'Redirects from HTTP to HTTPS. The strictest level applies.',
    guards: true,
    fields: {
      redirect: choice(
        'force-ssl-redirect',
        'Always: redirect all requests. WithCertificate: only for hosts in spec.tls. Never: do not redirect.',
        {
          Always: { 'force-ssl-redirect': 'true' },
          WithCertificate: { 'ssl-redirect': 'true' },
          Never: { 'ssl-redirect': 'false', 'force-ssl-redirect': 'false' },
        },
      ),
    },
  },
  throttle: {
    description: 'How fast a response is sent.',
    fields: {
      kibPerSecond: count('limit-rate', 'KiB in a second.', 1, MOST),
      afterKib: count('limit-rate-after', 'KiB that are sent without a limit.', 0, MOST),
    },
  },
  cors: {
    description: 'Which other sites may use the routes from a browser.',
    implies: { 'enable-cors': 'true' },
    fields: {
      enabled: bool(
        'enable-cors',
        'With false, an inner level ends what an outer one has set. Default: true.',
      ),
      allowOrigins: entries('cors-allow-origin', 'Origins, for example https://shop.example.com, or *.'),
      allowMethods: entries('cors-allow-methods', 'Methods.'),
      allowHeaders: entries('cors-allow-headers', 'Headers of requests.'),
      exposeHeaders: entries('cors-expose-headers', 'Headers of responses that scripts may read.'),
      allowCredentials: bool('cors-allow-credentials', 'Whether browsers send cookies. Default: true.'),
      maxAge: count('cors-max-age', 'Seconds for which browsers keep the answer.', 0, 100_000_000),
    },
  },
  redirect: {
    description: 'Answers all requests with a redirect.',
    replacedBy: ['permanent-redirect', 'permanent-redirect-code'],
    fields: {
      to: words('temporal-redirect', 'A URL or a path. It may contain variables, for example $request_uri.'),
      status: count('temporal-redirect-code', '301, 302, 303, 307 or 308. Default: 302.', 301, 308),
    },
  },
  rewrite: {
    description: 'Another path for backends. Paths of the Ingress are regular expressions.',
    ingressOnly: true,
    fields: {
      target: words('rewrite-target', 'Path for backends, with $1 to $9 for groups of the path.'),
      forwardedPrefix: words('x-forwarded-prefix', 'Value of the header X-Forwarded-Prefix.'),
    },
  },
  paths: {
    description: 'How paths are read.',
    ingressOnly: true,
    byField: true,
    fields: {
      useRegex: bool('use-regex', 'Paths are regular expressions.'),
      appRoot: words('app-root', 'Path to which requests for / are redirected.'),
    },
  },
  canary: {
    description: 'The backends get some requests for the same paths of another Ingress.',
    ingressOnly: true,
    implies: { canary: 'true' },
    fields: {
      weight: count('canary-weight', 'How many of weightTotal requests.', 0, MOST),
      weightTotal: count('canary-weight-total', 'Sum of the weights. Default: 100.', 1, MOST),
      header: name('canary-by-header', 'Header that decides.'),
      headerValue: words('canary-by-header-value', 'Value of the header.'),
      headerPattern: words('canary-by-header-pattern', 'Regular expression for the value of the header.'),
      cookie: name('canary-by-cookie', 'Cookie that decides.'),
    },
  },
  body: {
    description: 'Bodies of requests.',
    byField: true,
    fields: { maxSize: size('proxy-body-size', 'Largest body; 0: no limit.') },
  },
  timeouts: {
    description: 'Timeouts of backends.',
    byField: true,
    fields: {
      connect: duration('proxy-connect-timeout', 'To connect.'),
      read: duration('proxy-read-timeout', 'Longest pause in a response.'),
      send: duration('proxy-send-timeout', 'Longest pause while a backend reads the request.'),
    },
  },
  retries: {
    description: 'When a request is sent to another endpoint.',
    fields: {
      conditions: entries('proxy-next-upstream', 'For example error, timeout, http_503, or off.', 'spaces'),
      tries: count('proxy-next-upstream-tries', 'How many endpoints get a request; 0: no limit.', 0, 10),
      timeout: duration('proxy-next-upstream-timeout', 'Time in which further endpoints get a request.'),
    },
  },
  affinity: {
    description: 'A cookie that keeps a client at an endpoint.',
    unit: 'endpoint',
    implies: { affinity: 'cookie' },
    fields: {
      canary: choice('affinity-canary-behavior', 'Whether it applies to canaries too. Default: Sticky.', {
        Sticky: 'sticky',
        Legacy: 'legacy',
      }),
      cookieName: name('session-cookie-name', 'Name of the cookie. Default: INGRESSCOOKIE.'),
      path: words('session-cookie-path', 'Path of the cookie.'),
      domain: name('session-cookie-domain', 'Domain of the cookie.'),
      expires: count('session-cookie-expires', 'Seconds after which it expires, as a date.', 0, 999_999_999),
      maxAge: count('session-cookie-max-age', 'Seconds after which it expires.', 0, 999_999_999),
      sameSite: choice('session-cookie-samesite', 'Attribute SameSite.', {
        None: 'None',
        Lax: 'Lax',
        Strict: 'Strict',
      }),
      conditionalSameSiteNone: bool(
        'session-cookie-conditional-samesite-none',
        'Omit SameSite=None for browsers that reject it.',
      ),
      secure: bool('session-cookie-secure', 'Attribute Secure. Default: over HTTPS only.'),
      changeOnFailure: bool('session-cookie-change-on-failure', 'Another endpoint after a failure.'),
    },
  },
  hashing: {
    description: 'A key whose requests go to the same endpoint.',
    unit: 'endpoint',
    fields: {
      key: words('upstream-hash-by', 'Text with variables, for example $remote_addr.'),
      subset: bool('upstream-hash-by-subset', 'A key has several endpoints.'),
      subsetSize: count('upstream-hash-by-subset-size', 'How many. Default: 3.', 1, 9_999),
    },
  },
  backend: {
    description: 'How backends are reached.',
    byField: true,
    fields: {
      protocol: choice('backend-protocol', 'Protocol of the backends. Default: HTTP.', {
        HTTP: 'HTTP',
        HTTPS: 'HTTPS',
        GRPC: 'GRPC',
      }),
      algorithm: choice('load-balance', 'How endpoints are chosen. Default: RoundRobin.', {
        RoundRobin: 'round_robin',
        LeastConnections: 'least_conn',
        Ewma: 'ewma',
      }),
      host: name('upstream-vhost', 'Value of the header Host.'),
      serviceAddress: bool('service-upstream', 'Use the address of the Service, not its endpoints.'),
      headBufferSize: size('proxy-buffer-size', 'Largest head of a response.'),
    },
  },
  responses: {
    description: 'Other hosts and paths in redirects and cookies of backends.',
    fields: {
      redirectFrom: words('proxy-redirect-from', 'Beginning of the headers Location and Refresh.'),
      redirectTo: words('proxy-redirect-to', 'What it is replaced by.'),
      cookieDomain: pair('proxy-cookie-domain', 'Attribute Domain of cookies.'),
      cookiePath: pair('proxy-cookie-path', 'Attribute Path of cookies.'),
    },
  },
  mirror: {
    description: 'A copy of each request for another server.',
    fields: {
      target: words('mirror-target', 'URL of the server.'),
      host: name('mirror-host', 'Header Host of the copies.'),
      body: choice('mirror-request-body', 'Whether copies have the body. Default: With.', {
        With: 'on',
        Without: 'off',
      }),
    },
  },
  accessLog: {
    description: 'The access log.',
    byField: true,
    fields: { enabled: bool('enable-access-log', 'Whether requests are logged. Default: true.') },
  },
} as const satisfies Readonly<Record<string, PolicySection>>;

export type PolicySectionName = keyof typeof POLICY_SECTIONS;

/** By name, without the types of single sections. */
export const POLICY_SECTION_LIST = Object.entries(POLICY_SECTIONS) as readonly (readonly [
  PolicySectionName,
  PolicySection,
])[];

/** Sections that limit which requests are served. */
export const GUARD_SECTIONS: readonly PolicySectionName[] = POLICY_SECTION_LIST.flatMap(([name, section]) =>
  section.guards ? [name] : [],
);
