import type { Upstream, UpstreamId } from '../model.ts';
import type { Wishes } from './annotations.ts';

/** What an Ingress says of the upstream it wants, before anybody has looked for the Service. */
export interface UpstreamReference {
  readonly id: UpstreamId;
  readonly namespace: string;
  /** Empty for a backend that is no Service. */
  readonly service: string;
  readonly port: string | number;
  readonly protocol: Upstream['protocol'];
  readonly balance: Upstream['balance'];
}

interface ServiceBackend {
  name: string;
  port?: { name?: string; number?: number };
}

/** An underscore can be in none of the parts: equal names are equal upstreams. */
export function upstreamReference(
  namespace: string,
  backend: { service?: ServiceBackend } | undefined,
  { protocol, balance }: Pick<Wishes, 'protocol' | 'balance'>,
): UpstreamReference {
  const service = backend?.service?.name ?? '';
  const port = backend?.service?.port?.name || backend?.service?.port?.number || '';
  // Asked for in two ways, a Service is two upstreams: neither Ingress changes what the other gets.
  const unusual = [protocol === 'http' ? '' : `_${protocol}`, balance === 'roundRobin' ? '' : `_${balance}`];
  return {
    id: `${namespace}_${service}_${port}${unusual.join('')}`,
    namespace,
    service,
    port,
    protocol,
    balance,
  };
}
