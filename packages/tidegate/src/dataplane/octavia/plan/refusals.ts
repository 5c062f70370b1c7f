import type { RouteAction } from '../../../ingress/model.ts';
import type { FailedHost } from '../../../ingress/provisioners/index.ts';
import type { ListenerSettings, PolicyKey } from './state.ts';

/** What Octavia cannot do. A refused route answers 503, and the reason is reported for its host. */

export const WILDCARD_REDIRECT: FailedHost = {
  reason: 'RedirectNotSupported',
  message:
    'Octavia can redirect to HTTPS for hosts without a wildcard only. Requests over plain HTTP get the response 503. ' +
    'Name each host, or set the annotation tidegate.io/ssl-redirect to "false".',
};

export const NO_STORE: FailedHost = {
  reason: 'CertificateStoreMissing',
  message:
    'The host is not served over HTTPS, because there is no certificate store. The administrator has to provide Barbican, or to start the manager with --octavia-certificates and set the parameter certificates of the class to local.',
};

export const TOO_LONG: FailedHost = {
  reason: 'RuleTooLong',
  message:
    'A rule of Octavia has at most 255 characters, and a host or path of this host needs more. All requests of the host get the response 503. Use a shorter path.',
};

/** Why a route cannot be served. Undefined if it can. */
export function refusalOf(
  { path }: PolicyKey,
  { limits, source }: RouteAction,
  { connectTimeoutMs, readTimeoutMs }: ListenerSettings,
  { hasHeaders, hasBackend }: { hasHeaders: boolean; hasBackend: boolean },
): FailedHost | undefined {
  const where = `Ingress ${source.namespace}/${source.name}, path ${path || '(default backend)'}:`;
  const refused = (reason: string, message: string): FailedHost => ({
    reason,
    message: `${where} ${message} Requests get the response 503.`,
  });
  if (hasHeaders) return refused('HeadersNotSupported', 'Octavia does not compare headers as a whole.');
  if (!hasBackend)
    return refused(
      'BackendNotSupported',
      'Octavia needs endpoints with IP addresses, HTTP or HTTPS, and one protocol and balance for all backends of a path.',
    );
  if ((limits.maxBodyBytes ?? 0) !== 0)
    return refused(
      'MaxBodySizeNotSupported',
      'Octavia does not limit request bodies: remove tidegate.io/max-body-size.',
    );
  if (limits.connectTimeoutMs !== undefined && limits.connectTimeoutMs !== connectTimeoutMs)
    return refused('TimeoutNotSupported', timeouts('tidegate.io/proxy-connect-timeout', 'connectTimeout'));
  if (limits.readTimeoutMs !== undefined && limits.readTimeoutMs !== readTimeoutMs)
    return refused('TimeoutNotSupported', timeouts('tidegate.io/proxy-read-timeout', 'readTimeout'));
  return undefined;
}

const timeouts = (annotation: string, parameter: string): string =>
  `Octavia has one timeout for all paths: remove ${annotation}, or set the parameter ${parameter} of the class.`;
