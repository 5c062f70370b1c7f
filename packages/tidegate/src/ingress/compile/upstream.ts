import { isIP } from 'node:net';
import type { EndpointSlice, Service } from '@tidegate/kube';
import { writtenHost } from '../match/index.ts';
import type { Endpoint, Upstream } from '../model.ts';
import type { UpstreamReference } from './backend.ts';
import { endpointsOf } from './endpoints.ts';
import type { Reason } from './ingress-problem.ts';

/** A upstream, and when it has no endpoints, why, in words. */
export interface ResolvedUpstream {
  readonly upstream: Upstream;
  readonly trouble?: { readonly reason: Reason; readonly message: string };
}

export function resolveUpstream(
  reference: UpstreamReference,
  service: Service | undefined,
  slices: Iterable<EndpointSlice>,
): ResolvedUpstream {
  const name = `${reference.namespace}/${reference.service}`;
  const { port: _, ...upstream } = reference;
  const without = (issue: Upstream['problem'], reason: Reason, message: string): ResolvedUpstream => ({
    upstream: { ...upstream, endpoints: [], problem: issue },
    trouble: { reason, message: `${message} Requests are answered 503.` },
  });
  // The Ingress has been told already.
  if (reference.service === '') return { upstream: { ...upstream, endpoints: [], problem: 'notSupported' } };
  if (service === undefined) {
    return without('noService', 'ServiceNotFound', `There is no Service ${name}.`);
  }
  if (service.spec?.type === 'ExternalName') {
    const external = externalEndpoint(reference, service);
    if (external === 'noPort') return without('noPort', 'PortNotFound', noPort(reference, service));
    if (external !== undefined) return { upstream: { ...upstream, endpoints: [external] } };
    const message = `The externalName of Service ${name} has to be a DNS name, and none of this machine's own.`;
    return without('notSupported', 'ExternalNameRefused', message);
  }
  const port = servicePort(reference, service);
  if (port === undefined) return without('noPort', 'PortNotFound', noPort(reference, service));
  const endpoints = endpointsOf(service, port.name ?? '', slices);
  if (endpoints.length > 0) return { upstream: { ...upstream, endpoints } };
  return without('noEndpoints', 'NoEndpoints', `Service ${name} has no endpoint that is ready.`);
}

type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];

const servicePort = ({ port }: UpstreamReference, { spec }: Service): ServicePort | undefined =>
  spec?.ports?.find(
    (each) =>
      (each.protocol ?? 'TCP') === 'TCP' && (typeof port === 'number' ? each.port : each.name) === port,
  );

function noPort({ port, namespace, service }: UpstreamReference, { spec }: Service): string {
  const known =
    spec?.ports?.map((each) => (each.name ? `${each.name} (${each.port})` : `${each.port}`)) ?? [];
  const has = known.length === 0 ? 'no ports' : known.join(', ');
  return `Service ${namespace}/${service} has no TCP port ${port}; it has ${has}.`;
}

/** A number needs no entry in the Service: there is nothing that it could be mapped to. */
function externalEndpoint(reference: UpstreamReference, service: Service): Endpoint | 'noPort' | undefined {
  const address = externalName(service.spec?.externalName ?? '');
  if (address === undefined) return undefined;
  const port = typeof reference.port === 'number' ? reference.port : servicePort(reference, service)?.port;
  return port === undefined ? 'noPort' : { address, port };
}

/** Names only: an address here would be a way around the rules that the addresses of endpoints have to keep. */
function externalName(written: string): string | undefined {
  const name = writtenHost(written);
  if (name === undefined || name === '' || name.startsWith('*') || isIP(name) !== 0) return undefined;
  return name === 'localhost' || name.endsWith('.localhost') ? undefined : name;
}
