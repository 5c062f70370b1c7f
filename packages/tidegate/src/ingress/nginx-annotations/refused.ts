/**
 * An annotation that protects something. Without it, an Ingress would be open to clients that it is meant to exclude. It is
 * refused with every prefix: ingress-nginx has an option for its prefix, and other controllers use the same names for the
 * same purposes.
 */
export interface Refused {
  /** What it asks for; completes "asks for ...". */
  readonly asks: string;
  /** What to do instead; a sentence. */
  readonly instead: string;
  /** With these values it asks for nothing. */
  readonly off: readonly string[];
}

type Protection = Pick<Refused, 'asks' | 'instead'> & Partial<Refused>;

const each = (names: readonly string[], protection: Protection): [string, Refused][] =>
  names.map((name) => [name, { off: [], ...protection }]);

const IN_APPLICATION = 'Authenticate clients in the application or in a proxy in front of it.';
const BY_NETWORK_POLICY = 'Restrict clients with a firewall in front of the router, or in the application.';
const IN_FRONT = 'Limit clients in the application, or with a proxy in front of the router.';

export const REFUSED: ReadonlyMap<string, Refused> = new Map([
  ...each(['auth-type', 'auth-secret', 'auth-secret-type', 'auth-realm'], {
    asks: 'a user name and a password',
    instead: IN_APPLICATION,
  }),
  ...each(
    [
      ...['auth-url', 'auth-signin', 'auth-method', 'auth-response-headers', 'auth-request-redirect'],
      ...['auth-signin-redirect-param', 'auth-proxy-set-headers', 'auth-cache-key', 'auth-cache-duration'],
      ...['auth-keepalive', 'auth-keepalive-requests', 'auth-keepalive-share-vars', 'auth-keepalive-timeout'],
      ...['auth-always-set-cookie', 'auth-snippet'],
    ],
    { asks: 'authentication by another service', instead: IN_APPLICATION },
  ),
  ...each(['enable-global-auth'], {
    asks: 'authentication by another service',
    instead: IN_APPLICATION,
    off: ['false'],
  }),
  ...each(
    [
      ...['auth-tls-secret', 'auth-tls-verify-depth', 'auth-tls-error-page', 'auth-tls-match-cn'],
      'auth-tls-pass-certificate-to-upstream',
    ],
    { asks: 'client certificates', instead: IN_APPLICATION },
  ),
  ...each(['auth-tls-verify-client'], {
    asks: 'client certificates',
    instead: IN_APPLICATION,
    off: ['off'],
  }),
  ...each(
    ['allowlist-source-range', 'whitelist-source-range', 'denylist-source-range', 'blacklist-source-range'],
    { asks: 'restrictions by the address of the client', instead: BY_NETWORK_POLICY },
  ),
  ...each(['satisfy'], { asks: 'a combination of restrictions', instead: BY_NETWORK_POLICY }),
  ...each(
    [
      ...['limit-rps', 'limit-rpm', 'limit-connections', 'limit-rate', 'limit-rate-after'],
      ...['limit-burst-multiplier', 'global-rate-limit', 'global-rate-limit-window'],
    ],
    { asks: 'a rate limit', instead: IN_FRONT, off: ['0'] },
  ),
  ...each(
    ['limit-allowlist', 'limit-whitelist', 'global-rate-limit-key', 'global-rate-limit-ignored-cidrs'],
    { asks: 'a rate limit', instead: IN_FRONT },
  ),
  ...each(['enable-modsecurity', 'enable-owasp-core-rules'], {
    asks: 'a web application firewall',
    instead: 'Run the firewall in front of the router or of the application.',
    off: ['false'],
  }),
  ...each(['modsecurity-snippet', 'modsecurity-transaction-id'], {
    asks: 'a web application firewall',
    instead: 'Run the firewall in front of the router or of the application.',
  }),
  ...each(['configuration-snippet', 'server-snippet', 'stream-snippet'], {
    asks: 'directives of nginx, which may restrict access',
    instead: 'Use annotations instead of directives.',
  }),
  ...each(['proxy-ssl-verify'], {
    asks: 'a check of the certificate of the backend',
    instead: 'Connect to the backend inside of a trusted network only.',
    off: ['off'],
  }),
  ...each(['ssl-passthrough'], {
    asks: 'TLS connections that only the backend can decrypt',
    instead: 'Expose the backend with a Service of type LoadBalancer or NodePort.',
    off: ['false'],
  }),
]);

/**
 * Names that are in no table, but look as if they protect something: what is not understood is refused. Other controllers
 * have, for example, `basic-auth-secret`, `jwt-key`, `location-snippets`, `deny-list`, `wafv2-acl-arn` or `inbound-cidrs`.
 */
const SUSPICIOUS = [
  /^(?:auth|basic-auth|jwt|limit|rate-limit|global-rate-limit)(?:-|$)/,
  /-source-range$|(?:white|black|allow|deny)-?list|snippet|modsecurity/,
  /(?:^|[.-])(?:waf|wafv2|oauth|oauth2|oidc|mtls|firewall|cidrs)(?:[.-]|$)/,
];

const UNKNOWN: Refused = {
  asks: 'a protection that Tidegate does not know',
  instead: 'Check the name.',
  off: [],
};

/** The entry of a name, which is written without its prefix; undefined if nothing suggests that it protects something. */
export const refusedByName = (name: string): Refused | undefined =>
  REFUSED.get(name) ?? (SUSPICIOUS.some((each) => each.test(name)) ? UNKNOWN : undefined);
