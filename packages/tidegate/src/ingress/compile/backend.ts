import type { Pool, PoolId } from '../model.ts';
import type { Wishes } from './annotations.ts';

/** What an Ingress says of the pool it wants, before anybody has looked for the Service. */
export interface PoolReference {
  readonly id: PoolId;
  readonly namespace: string;
  /** Empty for a backend that is no Service. */
  readonly service: string;
  readonly port: string | number;
  readonly protocol: Pool['protocol'];
  readonly balance: Pool['balance'];
}

interface ServiceBackend {
  name: string;
  port?: { name?: string; number?: number };
}

/** An underscore can be in none of the parts: equal names are equal pools. */
export function poolReference(
  namespace: string,
  backend: { service?: ServiceBackend } | undefined,
  { protocol, balance }: Pick<Wishes, 'protocol' | 'balance'>,
): PoolReference {
  const service = backend?.service?.name ?? '';
  const port = backend?.service?.port?.name || backend?.service?.port?.number || '';
  // Asked for in two ways, a Service is two pools: neither Ingress changes what the other gets.
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
