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

const PER_ROUTER =
  'Limit the requests to each router with limit-rps or limit-rpm, or limit clients in the application.';

export const REFUSED: ReadonlyMap<string, Refused> = new Map([
  ...each(['auth-snippet'], {
    asks: 'directives of nginx for the server that authenticates clients',
    instead: 'Use auth-method, auth-proxy-set-headers, auth-response-headers and auth-request-redirect.',
  }),
  ...each(['enable-global-auth'], {
    asks: 'the authentication that a ConfigMap of ingress-nginx configures for all Ingresses',
    instead: 'Write auth-url on the Ingress.',
    off: ['false'],
  }),
  ...each(['blacklist-source-range'], {
    asks: 'restrictions by the address of the client',
    instead: 'Write nginx.ingress.kubernetes.io/denylist-source-range.',
  }),
  ...each(['global-rate-limit', 'global-rate-limit-window'], {
    asks: 'a rate limit of all routers together',
    instead: PER_ROUTER,
    off: ['0'],
  }),
  ...each(['global-rate-limit-key', 'global-rate-limit-ignored-cidrs'], {
    asks: 'a rate limit of all routers together',
    instead: PER_ROUTER,
  }),
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
    instead: 'Use annotations, for example custom-headers, permanent-redirect or denylist-source-range.',
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
