import { isIP } from 'node:net';
import type { EndpointSlice, Service } from '@tidegate/kube';
import { writtenHost } from '../match/index.ts';
import type { Endpoint, Upstream } from '../model.ts';
import { isClosed, type UpstreamReference } from './backend.ts';
import { endpointsOf } from './endpoints.ts';
import type { Reason } from './ingress-problem.ts';

/** An upstream, and the problem to report for its Ingresses if it has no endpoints. */
export interface ResolvedUpstream {
  readonly upstream: Upstream;
  readonly trouble?: { readonly reason: Reason; readonly message: string };
}

/**
 * Finds the endpoints of a backend, through the Service and its EndpointSlices. An upstream without endpoints is kept,
 * so that its routes respond with 503 and do not fall back to other routes.
 */
export function resolveUpstream(
  reference: UpstreamReference,
  service: Service | undefined,
  slices: Iterable<EndpointSlice>,
): ResolvedUpstream {
  const name = `${reference.namespace}/${reference.service}`;
  const { port: _, isExternal, usesFirstPort: __, ...upstream } = reference;
  const without = (issue: Upstream['problem'], reason: Reason, message: string): ResolvedUpstream => ({
    upstream: { ...upstream, endpoints: [], problem: issue },
    trouble: { reason, message: `${message} Requests get the response 503.` },
  });
  // readIngress has already reported this.
  if (reference.service === '')
    return {
      upstream: { ...upstream, endpoints: [], problem: isClosed(reference) ? 'closed' : 'notSupported' },
    };
  // Routers resolve the name, and refuse addresses of their own node.
  if (isExternal)
    return {
      upstream: { ...upstream, endpoints: [{ address: reference.service, port: Number(reference.port) }] },
    };
  if (service === undefined) {
    return without('noService', 'ServiceNotFound', `Service ${name} not found.`);
  }
  if (service.spec?.type === 'ExternalName') {
    const external = externalEndpoint(reference, service);
    if (external === 'noPort') return without('noPort', 'PortNotFound', noPort(reference, service));
    if (external !== undefined) return { upstream: { ...upstream, endpoints: [external] } };
    const message = `spec.externalName of Service ${name} must be a DNS name other than localhost.`;
    return without('notSupported', 'ExternalNameRefused', message);
  }
  const port = servicePort(reference, service);
  if (port === undefined) return without('noPort', 'PortNotFound', noPort(reference, service));
  const address = reference.usesAddress ? addressOf(service) : undefined;
  if (address !== undefined) return { upstream: { ...upstream, endpoints: [{ address, port: port.port }] } };
  const endpoints = endpointsOf(service, port.name ?? '', slices);
  if (endpoints.length > 0) return { upstream: { ...upstream, endpoints } };
  return without('noEndpoints', 'NoEndpoints', `Service ${name} has no ready endpoints.`);
}

/** Undefined for a headless Service. */
const addressOf = ({ spec }: Service): string | undefined =>
  isIP(spec?.clusterIP ?? '') === 0 ? undefined : spec?.clusterIP;

type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];

const servicePort = (
  { port, usesFirstPort }: UpstreamReference,
  { spec }: Service,
): ServicePort | undefined =>
  spec?.ports?.find(
    (each) =>
      (each.protocol ?? 'TCP') === 'TCP' &&
      (usesFirstPort || (typeof port === 'number' ? each.port : each.name) === port),
  );

function noPort({ port, namespace, service }: UpstreamReference, { spec }: Service): string {
  const known =
    spec?.ports?.map((each) => (each.name ? `${each.name} (${each.port})` : `${each.port}`)) ?? [];
  const has = known.length === 0 ? 'no ports' : known.join(', ');
  return `Service ${namespace}/${service} has no TCP port ${port}; it has ${has}.`;
}

/** A port number needs no entry in the Service, because an ExternalName Service has no target ports to map to. */
function externalEndpoint(reference: UpstreamReference, service: Service): Endpoint | 'noPort' | undefined {
  const address = externalName(service.spec?.externalName ?? '');
  if (address === undefined) return undefined;
  const port = typeof reference.port === 'number' ? reference.port : servicePort(reference, service)?.port;
  return port === undefined ? 'noPort' : { address, port };
}

/**
 * Only DNS names are accepted. The API server forbids loopback and link-local addresses in EndpointSlices; an IP address
 * as external name would bypass that check.
 */
function externalName(written: string): string | undefined {
  const name = writtenHost(written);
  if (name === undefined || name === '' || name.startsWith('*') || isIP(name) !== 0) return undefined;
  return name === 'localhost' || name.endsWith('.localhost') ? undefined : name;
}
