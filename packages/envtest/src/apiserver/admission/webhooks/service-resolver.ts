import { badRequest, notFound } from '@tidegate/serving';
import type { Store } from '../../store/types.ts';

/** Returns a current address of the Service of a webhook. Throws an error with the reason if there is none. */
export type ServiceResolver = (
  namespace: string,
  name: string,
  port: number,
) => { host: string; port: number };

interface ServicePort {
  name?: string;
  port: number;
}

interface EndpointSlice {
  metadata: { labels?: Record<string, string> };
  endpoints?: { addresses?: string[]; conditions?: { ready?: boolean } }[];
  ports?: { name?: string; port?: number }[];
}

/**
 * Connects to a ready endpoint, because the host of this server may not route cluster IPs. A Service without
 * EndpointSlices is reached at its cluster IP.
 */
export function storeServiceResolver(store: Store): ServiceResolver {
  return (namespace, name, port) => {
    const entry = store.get({ resource: 'services', namespace, name });
    if (entry === undefined) throw notFound({ group: '', resource: 'service' }, name);
    const { spec } = JSON.parse(entry.value.toString()) as {
      spec: { clusterIP?: string; ports?: ServicePort[]; type?: string; externalName?: string };
    };
    if (spec.type === 'ExternalName') return { host: spec.externalName ?? '', port };
    const wanted = spec.ports?.find((one) => one.port === port);
    if (wanted === undefined)
      throw badRequest(`no service port ${port} found for service ${JSON.stringify(name)}`);
    const slices = slicesOf(store, namespace, name);
    for (const slice of slices) {
      const target = slice.ports?.find((one) => (one.name ?? '') === (wanted.name ?? ''))?.port;
      const ready = slice.endpoints?.find((endpoint) => endpoint.conditions?.ready !== false);
      const address = ready?.addresses?.[0];
      if (target !== undefined && address !== undefined) return { host: address, port: target };
    }
    const { clusterIP } = spec;
    if (slices.length > 0 || !clusterIP || clusterIP === 'None') {
      throw badRequest(`no endpoints available for service ${JSON.stringify(name)}`);
    }
    return { host: clusterIP, port };
  };
}

function slicesOf(store: Store, namespace: string, service: string): EndpointSlice[] {
  return store
    .list('discovery.k8s.io/endpointslices', { namespace })
    .entries.map((entry) => JSON.parse(entry.value.toString()) as EndpointSlice)
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service);
}
