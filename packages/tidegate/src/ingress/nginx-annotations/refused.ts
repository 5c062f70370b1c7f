/** An annotation that protects something. Without it, an Ingress would be open to clients that it is meant to exclude. */
export interface Refused {
  /** What it asks for; completes "asks for ...". */
  readonly asks: string;
  /** What to do instead; a sentence. */
  readonly instead: string;
  /** With these values it asks for nothing. */
  readonly off: readonly string[];
  /**
   * ingress-nginx applies it to all paths of the host, also to those of other Ingresses. So these are not served either.
   */
  readonly wholeHost: boolean;
  /**
   * Refused with every prefix: ingress-nginx has an option for its prefix, and other controllers use the same name for the
   * same purpose.
   */
  readonly anyPrefix: boolean;
}

type Protection = Pick<Refused, 'asks' | 'instead'> & Partial<Refused>;

const each = (names: readonly string[], protection: Protection): [string, Refused][] =>
  names.map((name) => [name, { off: [], wholeHost: false, anyPrefix: true, ...protection }]);

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
    { asks: 'client certificates', instead: IN_APPLICATION, wholeHost: true },
  ),
  ...each(['auth-tls-verify-client'], {
    asks: 'client certificates',
    instead: IN_APPLICATION,
    wholeHost: true,
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
    anyPrefix: false,
  }),
  ...each(['configuration-snippet'], {
    asks: 'directives of nginx, which may restrict access',
    instead: 'Use annotations instead of directives.',
    anyPrefix: false,
  }),
  ...each(['server-snippet', 'stream-snippet'], {
    asks: 'directives of nginx, which may restrict access',
    instead: 'Use annotations instead of directives.',
    wholeHost: true,
    anyPrefix: false,
  }),
  ...each(['proxy-ssl-verify'], {
    asks: 'a check of the certificate of the backend',
    instead: 'Connect to the backend inside of a trusted network only.',
    off: ['off'],
    anyPrefix: false,
  }),
  ...each(['ssl-passthrough'], {
    asks: 'TLS connections that only the backend can decrypt',
    instead: 'Expose the backend with a Service of type LoadBalancer or NodePort.',
    off: ['false'],
    wholeHost: true,
    anyPrefix: false,
  }),
]);

/** Names that are in no table, but look as if they protect something: what is not understood is refused. */
const SUSPICIOUS = /^(?:auth|limit|global-rate-limit)-|-source-range$|snippet|modsecurity/;

const UNKNOWN: Refused = {
  asks: 'a protection that Tidegate does not know',
  instead: 'Check the name.',
  off: [],
  wholeHost: false,
  anyPrefix: false,
};

/** The entry of an unknown name; undefined if nothing suggests that it protects something. */
export const refusedIfUnknown = (name: string): Refused | undefined =>
  SUSPICIOUS.test(name) ? UNKNOWN : undefined;
