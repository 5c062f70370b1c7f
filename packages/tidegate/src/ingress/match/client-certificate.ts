import type { HostName, HostRoutes } from '../model.ts';
import type { ClientCertificate } from '../policy/index.ts';
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
