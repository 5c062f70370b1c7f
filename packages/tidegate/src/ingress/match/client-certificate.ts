import type { HostName, HostRoutes } from '../model.ts';
import {
  type ClientCertificate,
  credentialsReference,
  fillUrl,
  type Handshake,
  type RoutePolicy,
} from '../policy/index.ts';
import type { Decision, RoutedRequest } from './decide.ts';
import { wildcardOf } from './host.ts';
import type { RouteTable } from './table.ts';

/**
 * Which client certificates a TLS handshake asks for: those of the first route of the host that needs one. A connection has
 * the authorities of one Secret. Undefined: none are asked for. `client_certificate.lua` is the same for nginx.
 */
export function clientCertificateFor({ hosts }: RouteTable, host: HostName): ClientCertificate | undefined {
  if (host === '') return undefined;
  const own = hosts.get(host) ?? hosts.get(wildcardOf(host) ?? host);
  const all = hosts.get('');
  return (own && neededBy(own)) ?? (all && neededBy(all, own?.namespace));
}

/** The settings of TLS handshakes for a server name. */
export const handshakeFor = ({ hosts }: RouteTable, host: HostName): Handshake | undefined =>
  host === '' ? undefined : (hosts.get(host) ?? hosts.get(wildcardOf(host) ?? host))?.handshake;

/** By the entry of a host, which never changes, and the namespace of the routes that count. */
const known = new WeakMap<HostRoutes, Map<string | undefined, ClientCertificate | undefined>>();

/** Each handshake needs the answer, and a host can have thousands of routes. */
function neededBy(routes: HostRoutes, namespace?: string): ClientCertificate | undefined {
  const answers = known.get(routes) ?? new Map<string | undefined, ClientCertificate | undefined>();
  known.set(routes, answers);
  if (!answers.has(namespace)) answers.set(namespace, find(routes, namespace));
  return answers.get(namespace);
}

function find({ routes, fallback }: HostRoutes, namespace?: string): ClientCertificate | undefined {
  const actions = [...routes.map(({ action }) => action), ...(fallback === undefined ? [] : [fallback])];
  for (const { policy, source } of actions) {
    const needed = policy?.clientCertificate;
    const isUsable = namespace === undefined || source.namespace === namespace;
    if (isUsable && needed !== undefined && needed.verify !== 'off') return needed;
  }
  return undefined;
}

/** What is known about a client and its connection, whose handshake was for the host of the request. */
interface Connected {
  /** Undefined: the Secrets are not known, and count as valid. */
  readonly table?: RouteTable;
  /** The client has no certificate. Otherwise it has one that the route accepts. */
  readonly isWithout: boolean;
}

/**
 * What the client certificates of a route make of a request, before its other policies apply. Undefined: nothing. For `tidegate trace` and
 * `tidegate migrate`; data planes check the certificate itself.
 */
export function certificateAnswer(
  { clientCertificate, redirect, secure: redirectsToHttps }: RoutePolicy,
  request: Pick<RoutedRequest, 'secure' | 'name' | 'authority' | 'target'>,
  { table, isWithout }: Connected,
): Extract<Decision, { kind: 'answer' }> | undefined {
  const { secure, name } = request;
  if (clientCertificate === undefined || (!secure && (redirect !== undefined || redirectsToHttps)))
    return undefined;
  const { credentials, verify, errorPage } = clientCertificate;
  const refused = (status: number, why: string) => ({ kind: 'answer' as const, status, why });
  const { secret } = credentialsReference(credentials);
  if (table !== undefined && table.credentials.get(credentials)?.authorities === undefined)
    return refused(503, `Secret ${secret} with its authorities does not exist, is invalid or cannot be read`);
  if (verify !== 'off' && secure) {
    const asked = table && clientCertificateFor(table, name);
    if (asked !== undefined && asked.credentials !== credentials)
      return refused(
        421,
        `the host asks for certificates of Secret ${credentialsReference(asked.credentials).secret}, and the route needs one of Secret ${secret}`,
      );
  }
  if (verify !== 'on') return undefined;
  if (!secure) return refused(403, 'clients without HTTPS have no certificate');
  if (!isWithout) return undefined;
  return errorPage === undefined
    ? refused(400, 'the client has no certificate')
    : { kind: 'answer', status: 302, location: fillUrl(errorPage, request) };
}
