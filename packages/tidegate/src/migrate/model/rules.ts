/**
 * The rules of ingress-nginx that manifests do not show. A difference between two controllers is explained by one of them.
 * The texts say what ingress-nginx does; what Tidegate does instead is in `tidegate`.
 */
export interface Rule {
  readonly title: string;
  readonly nginx: string;
  readonly tidegate: string;
  /** What to do to keep the behavior; a sentence. */
  readonly advice: string;
}

export const RULES = {
  regexHost: {
    title: 'Regular expressions for a whole host',
    nginx:
      'If one path of a host has use-regex or rewrite-target, in any Ingress, ingress-nginx reads all paths of the host as regular expressions: they ignore case, match everything that begins with them, and Exact has no effect. The longest text is tried first.',
    tidegate: 'Tidegate does the same, with expressions that take linear time.',
    advice: 'Move the paths with regular expressions to a host of their own if you do not want this.',
  },
  regexNotSupported: {
    title: 'A regular expression that needs more than linear time',
    nginx: 'ingress-nginx uses PCRE, which has look-ahead, look-behind and back-references.',
    tidegate: 'Tidegate does not serve such a path.',
    advice: 'Write the path without them.',
  },
  trailingSlash: {
    title: 'Redirects to a trailing slash',
    nginx:
      'If a path ends with a slash, ingress-nginx answers a request without the slash with 301 to the path with it. Hosts with regular expressions do not have this.',
    tidegate:
      'Tidegate sends no such redirect: a Prefix path with a slash also matches without it, and an Exact path does not.',
    advice: 'For an Exact path, add the path without the slash if clients use it.',
  },
  normalization: {
    title: 'Normalized paths',
    nginx:
      'ingress-nginx decodes percent-encoding, merges slashes and resolves dot segments before it compares paths: //api and /x/../api match /api.',
    tidegate:
      'Tidegate compares the path as the client sent it, so //api does not match /api, and answers dot segments with 400.',
    advice: 'Clients that send such paths must send the normalized path.',
  },
  sslRedirect: {
    title: 'Redirects to HTTPS without an annotation',
    nginx:
      'ingress-nginx redirects plain HTTP to HTTPS with 308 for every host of an Ingress that has spec.tls, unless ssl-redirect is false.',
    tidegate: 'Tidegate redirects only if ssl-redirect or force-ssl-redirect asks for it.',
    advice:
      'Write nginx.ingress.kubernetes.io/ssl-redirect: "true" in the Ingress. ingress-nginx accepts it too.',
  },
  inheritedRoot: {
    title: 'Annotations for paths that no rule has',
    nginx:
      'If no rule has the path / of a host, ingress-nginx adds it with the annotations of the oldest Ingress of the host: its redirects, rewrites and access control apply to all other paths.',
    tidegate: 'Tidegate answers a path that no rule has with 404, without annotations.',
    advice: 'Add a rule for / if other paths of the host are used.',
  },
  catchAll: {
    title: 'Rules without a host',
    nginx: 'ingress-nginx uses them only for hosts that no rule names.',
    tidegate:
      'Tidegate also uses them for hosts of the same namespace, if no rule of the host has the path, and never for hosts of other namespaces.',
    advice: 'Add a host to the rules.',
  },
  hostOwner: {
    title: 'A host in several namespaces',
    nginx: 'ingress-nginx merges the Ingresses of all namespaces.',
    tidegate:
      'A host belongs to one namespace in Tidegate. Ingresses of other namespaces get no routes for it.',
    advice: 'Move the Ingresses of the host to one namespace, or use a host for each.',
  },
  oldestWins: {
    title: 'Settings of the oldest Ingress of a host',
    nginx:
      'Settings of a whole host, for example server-alias, ssl-ciphers, auth-tls-secret or server-snippet, apply to all Ingresses of the host; the oldest Ingress wins.',
    tidegate: 'See the annotation itself for what Tidegate does with it.',
    advice: 'Keep such annotations in one Ingress of the host.',
  },
  plainCertificates: {
    title: 'Client certificates and plain HTTP',
    nginx:
      'ingress-nginx asks for client certificates over HTTPS only: it serves requests over plain HTTP without one, unless it redirects them.',
    tidegate: 'Tidegate answers requests over plain HTTP with 403 if auth-tls-verify-client is on.',
    advice: 'Redirect plain HTTP with nginx.ingress.kubernetes.io/force-ssl-redirect: "true".',
  },
  refused: {
    title: 'Refused annotations',
    nginx: 'ingress-nginx does what the annotation asks for.',
    tidegate:
      'Tidegate answers all requests for the hosts of the Ingress with 503: it never serves them openly.',
    advice: 'See the annotation in the list of the Ingress.',
  },
  notServed: {
    title: 'Paths that are not served',
    nginx: 'ingress-nginx serves the path.',
    tidegate: 'Tidegate does not serve it. The reason is in the list of the Ingress.',
    advice: 'Change the path.',
  },
  hsts: {
    title: 'The header Strict-Transport-Security',
    nginx: 'ingress-nginx adds it to all responses over HTTPS, unless its ConfigMap has hsts: "false".',
    tidegate: 'Tidegate does not add it.',
    advice: 'Set the header in the application.',
  },
  redirectSlash: {
    title: 'Redirects to HTTPS without the trailing slash',
    nginx:
      'ingress-nginx removes a trailing slash from the path when it redirects to HTTPS, unless preserve-trailing-slash is true.',
    tidegate: 'Tidegate keeps the slash.',
    advice: 'Nothing, unless clients depend on the path without the slash.',
  },
  sharedService: {
    title: 'Cookies of a Service that several Ingresses use',
    nginx:
      'ingress-nginx has settings of a Service once: if several Ingresses use the same Service and port, the affinity of one of them applies to all.',
    tidegate: 'In Tidegate, each Ingress has its own affinity.',
    advice: 'Write the same affinity and the same name of the cookie in these Ingresses.',
  },
  ownResponse: {
    title: 'Responses of the controller itself',
    nginx: 'ingress-nginx answers redirects and errors with HTML pages of nginx or of its default backend.',
    tidegate: 'Tidegate answers them with a short text. The status is the same.',
    advice: 'Nothing, unless clients read the body of errors.',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULES;
