/** An annotation that Tidegate does without. */
export interface Ignored {
  /** What happens without it; a sentence. */
  readonly effect: string;
  /** What to do instead; a sentence. */
  readonly instead?: string;
}

const each = (names: readonly string[], effect: string, instead?: string): [string, Ignored][] =>
  names.map((name) => [name, instead === undefined ? { effect } : { effect, instead }]);

export const IGNORED: ReadonlyMap<string, Ignored> = new Map([
  ...each(
    ['relative-redirects', 'use-port-in-redirects'],
    'Redirects have a host, and no port if they lead to HTTPS.',
  ),
  ...each(['custom-headers'], 'Responses get no additional headers.', 'Set them in the application.'),
  ...each(['fastcgi-index', 'fastcgi-params-configmap'], 'FastCGI is not supported.'),
  ...each(
    [
      ...['enable-opentelemetry', 'opentelemetry-operation-name', 'opentelemetry-trust-incoming-span'],
      ...['enable-opentracing', 'opentracing-trust-incoming-span'],
    ],
    'The router sends no traces. It forwards the headers of the client unchanged.',
  ),
]);
