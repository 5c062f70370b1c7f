import type { Verdict } from './annotations.ts';

/** What Tidegate does in place of a key of the ConfigMap of ingress-nginx. */
export interface ConfigKey {
  readonly verdict: Verdict;
  /** Sentences. */
  readonly text: string;
  /** With these values, Tidegate does the same. */
  readonly same?: readonly string[];
}

const each = (names: readonly string[], key: ConfigKey): [string, ConfigKey][] =>
  names.map((name) => [name, key]);

const PER_INGRESS = 'Tidegate has no setting for all Ingresses.';

/**
 * The keys that people set most. A key with which ingress-nginx protects something is refused: the move must not go on
 * without it. Others are not.
 */
export const CONFIG_KEYS: ReadonlyMap<string, ConfigKey> = new Map([
  ...each(['proxy-body-size'], {
    verdict: 'changed',
    text: `${PER_INGRESS} The default is 1m. Write the annotation proxy-body-size in each Ingress that needs another limit.`,
    same: ['1m'],
  }),
  ...each(['proxy-connect-timeout'], {
    verdict: 'changed',
    text: `${PER_INGRESS} The default is 5 seconds. Write the annotation proxy-connect-timeout.`,
    same: ['5'],
  }),
  ...each(['proxy-read-timeout'], {
    verdict: 'changed',
    text: `${PER_INGRESS} The default is 60 seconds. Write the annotation proxy-read-timeout.`,
    same: ['60'],
  }),
  ...each(['proxy-send-timeout'], {
    verdict: 'changed',
    text: `${PER_INGRESS} The default is 60 seconds. Write the annotation proxy-send-timeout.`,
    same: ['60'],
  }),
  ...each(['ssl-redirect'], {
    verdict: 'changed',
    text: 'Tidegate redirects to HTTPS only if an annotation asks for it. See the rule "Redirects to HTTPS without an annotation".',
    same: ['false'],
  }),
  ...each(['force-ssl-redirect'], {
    verdict: 'refused',
    text: 'Without it, hosts answer over plain HTTP. Write the annotation force-ssl-redirect in each Ingress.',
    same: ['false'],
  }),
  ...each(['use-forwarded-headers', 'compute-full-forwarded-for', 'forwarded-for-header'], {
    verdict: 'refused',
    text: 'Tidegate does not trust X-Forwarded-For of clients: the address of a client is that of its connection. Allow lists, limits and backends would see the address of the proxy in front of it.',
    same: ['false', ''],
  }),
  ...each(['use-proxy-protocol'], {
    verdict: 'refused',
    text: 'Tidegate does not accept the PROXY protocol. Requests of a load balancer that sends it would fail. Turn it off in the load balancer, and use externalTrafficPolicy: Local to keep addresses of clients.',
    same: ['false'],
  }),
  ...each(['proxy-real-ip-cidr', 'enable-real-ip'], {
    verdict: 'refused',
    text: 'Tidegate has no trusted proxies. The address of a client is that of its connection.',
    same: ['false', ''],
  }),
  ...each(['whitelist-source-range', 'denylist-source-range'], {
    verdict: 'refused',
    text: 'It restricts access to all hosts. Write the annotation with the same name in each Ingress.',
    same: [''],
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
  ...each(['proxy-buffer-size', 'proxy-buffers-number', 'client-body-buffer-size', 'proxy-buffering'], {
    verdict: 'changed',
    text: `${PER_INGRESS} Responses are not buffered. Write the annotation with the same name if heads of responses have more than 16 KiB.`,
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

/** The verdict about a key with its value. Keys that are in no table are reported as changed. */
export function configKeyVerdict(name: string, value: string): Pick<ConfigKey, 'verdict' | 'text'> {
  const key = CONFIG_KEYS.get(name);
  if (key === undefined)
    return { verdict: 'changed', text: 'Tidegate does not know this key and does nothing in its place.' };
  if (key.same?.includes(value.trim().toLowerCase()))
    return { verdict: 'honored', text: 'Tidegate does the same without a setting.' };
  return { verdict: key.verdict, text: key.text };
}
