import type { PolicyReader } from './annotation-reader.ts';
import { RETRIED_STATUSES, type RetriedStatus } from './forwarding.ts';

/** Another backend for errors of the backends of a route, and in place of backends without endpoints. */
export interface Errors {
  /** ID of the upstream with this backend. */
  readonly upstream: string;
  /** Responses with these statuses are replaced by the response of the backend to a request for `/`. */
  readonly statuses: readonly RetriedStatus[];
  /** What the backend gets, besides the status, about the route. */
  readonly about: { readonly namespace: string; readonly ingress: string };
}

/** Annotations of this file. With an invalid value, clients get the errors themselves. */
export const ERROR_NAMES = ['default-backend', 'custom-http-errors', 'disable-proxy-intercept-errors'];

const SERVICE = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** The name of the Service, and the statuses. Undefined if the Ingress asks for none. */
export function readErrors(
  reader: PolicyReader,
): { service: string; statuses: readonly RetriedStatus[] } | undefined {
  const statuses = readStatuses(reader);
  const isOff = reader.flag('disable-proxy-intercept-errors');
  const service = reader.text('default-backend') ?? '';
  if (service === '') {
    if (statuses.length > 0 && !isOff)
      reader.invalid(
        'custom-http-errors',
        reader.text('custom-http-errors') ?? '',
        'default-backend too: Tidegate has no default backend for all Ingresses',
      );
    return undefined;
  }
  if (SERVICE.test(service)) return { service, statuses: isOff ? [] : statuses };
  reader.invalid('default-backend', service, 'the name of a Service in the namespace of the Ingress');
  return undefined;
}

function readStatuses(reader: PolicyReader): readonly RetriedStatus[] {
  const text = reader.text('custom-http-errors') ?? '';
  const written = text.split(',').flatMap((each) => each.trim() || []);
  const isKnown = (each: string): boolean => (RETRIED_STATUSES as readonly number[]).includes(Number(each));
  if (written.some((each) => !isKnown(each)))
    reader.invalid(
      'custom-http-errors',
      text,
      `a list of ${[...RETRIED_STATUSES].sort().join(', ')}; responses with other statuses are not replaced`,
    );
  return RETRIED_STATUSES.filter((status) => written.includes(String(status)));
}

/** The headers with which ingress-nginx describes an error to the backend. */
export const errorHeaders = (
  { about }: Errors,
  facts: { status: number; accept: string | undefined; target: string; service: string; port: string },
): Record<string, string> => ({
  'X-Code': String(facts.status),
  'X-Format': facts.accept ?? '',
  'X-Original-URI': facts.target,
  'X-Namespace': about.namespace,
  'X-Ingress-Name': about.ingress,
  'X-Service-Name': facts.service,
  'X-Service-Port': facts.port,
});

export function describeErrors({ upstream, statuses }: Errors): string[] {
  const [namespace, service] = upstream.split('_');
  const name = `Service ${namespace}/${service}`;
  return [
    ...(statuses.length === 0
      ? []
      : [`replaces responses with status ${statuses.join(', ')} by those of ${name}`]),
    `sends requests to ${name} if the backend has no endpoints`,
  ];
}
