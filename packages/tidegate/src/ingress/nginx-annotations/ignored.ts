/** An annotation that Tidegate does without. */
export interface Ignored {
  /** What happens without it; a sentence. */
  readonly effect: string;
  /** What to do instead; a sentence. */
  readonly instead: string;
}

const each = (names: readonly string[], effect: string, instead: string): [string, Ignored][] =>
  names.map((name) => [name, { effect, instead }]);

export const IGNORED: ReadonlyMap<string, Ignored> = new Map([
  ...each(
    ['relative-redirects', 'use-port-in-redirects'],
    'Redirects have a host, and no port if they lead to HTTPS.',
    'Write the URL with its port in permanent-redirect or temporal-redirect.',
  ),
  ...each(
    ['fastcgi-index', 'fastcgi-params-configmap'],
    'FastCGI is not supported.',
    'Run an HTTP server in the pod of the application, for example nginx with fastcgi_pass, and use its port.',
  ),
  ...each(
    [
      ...['enable-opentelemetry', 'opentelemetry-operation-name', 'opentelemetry-trust-incoming-span'],
      ...['enable-opentracing', 'opentracing-trust-incoming-span'],
    ],
    'The router sends no spans. It forwards the trace context of the client (traceparent, tracestate) unchanged.',
    'Let the application continue the trace. The header X-Request-Id and the access log identify requests.',
  ),
]);
