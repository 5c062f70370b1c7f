import { createHash } from 'node:crypto';
import type { Upstream, UpstreamId } from '../model.ts';
import type { BackendTls, ExternalServer } from '../policy/index.ts';

/** A backend as an Ingress names it, before the Service is looked up. */
export interface UpstreamReference {
  readonly id: UpstreamId;
  readonly namespace: string;
  /** Empty for a backend that is not a Service. */
  readonly service: string;
  readonly port: string | number;
  readonly protocol: Upstream['protocol'];
  readonly tls?: BackendTls;
  readonly balance: Upstream['balance'];
  /** The address of the Service is used, not its endpoints. */
  readonly usesAddress?: true;
  /** The first port of the Service is used. `port` is empty. */
  readonly usesFirstPort?: true;
  /** A server that a policy names, and not a Service: `service` is its DNS name or address. */
  readonly isExternal?: true;
}

/** In place of the port: the upstream of routes that are not served. Requests get the response 503. */
const CLOSED = 'closed';

export const closedUpstream = (namespace: string): UpstreamReference => ({
  id: `${namespace}__${CLOSED}`,
  namespace,
  service: '',
  port: CLOSED,
  protocol: 'http',
  balance: 'roundRobin',
});

export const isClosed = ({ service, port }: UpstreamReference): boolean => service === '' && port === CLOSED;

interface ServiceBackend {
  name: string;
  port?: { name?: string; number?: number };
}

/** The parts of the ID are separated by underscores, which none of them can contain, so IDs are unique. */
export function upstreamReference(
  namespace: string,
  backend: { service?: ServiceBackend } | undefined,
  { protocol, tls, balance, usesAddress }: Pick<Upstream, 'protocol' | 'tls' | 'balance' | 'usesAddress'>,
): UpstreamReference {
  const service = backend?.service?.name ?? '';
  const port = backend?.service?.port?.name || backend?.service?.port?.number || '';
  // A Service that is used with two protocols is two upstreams, so that one Ingress does not affect another.
  const unusual = [
    protocol === 'http' ? '' : `_${protocol}`,
    tls === undefined
      ? ''
      : `_tls${createHash('sha256').update(JSON.stringify(tls)).digest('hex').slice(0, 16)}`,
    balance === 'roundRobin' ? '' : `_${balance}`,
    usesAddress ? '_address' : '',
  ];
  return {
    id: `${namespace}_${service}_${port}${unusual.join('')}`,
    namespace,
    service,
    port,
    protocol,
    ...(tls && { tls }),
    balance,
    ...(usesAddress && { usesAddress }),
  };
}

/** A Service for errors. As in ingress-nginx, its first port is used. */
export const errorReference = (namespace: string, service: string): UpstreamReference => ({
  id: `${namespace}_${service}_`,
  namespace,
  service,
  port: '',
  protocol: 'http',
  balance: 'roundRobin',
  usesFirstPort: true,
});

/** A server that a policy of a route needs. */
export const externalReference = (
  namespace: string,
  { id, host, port, protocol }: ExternalServer,
): UpstreamReference => ({
  id,
  namespace,
  service: host,
  port,
  protocol,
  balance: 'roundRobin',
  isExternal: true,
});
