import type { EndpointSlice, Service } from '@tidegate/kube';
import type { Endpoint } from '../model.ts';

type SliceEndpoint = NonNullable<EndpointSlice['endpoints']>[number];

/**
 * The endpoints of one port of a Service. Ready endpoints are used first. Only if there are none, endpoints that are
 * terminating but still serving are used, like kube-proxy does (KEP-1669). For a dual-stack Service, the first address
 * family is preferred, because both families lead to the same pods.
 */
export function endpointsOf(
  service: Service,
  portName: string,
  slices: Iterable<EndpointSlice>,
): readonly Endpoint[] {
  // In order of preference: ready, ready in the second family, terminating, terminating in the second family.
  const tiers: Map<string, Endpoint>[] = [new Map(), new Map(), new Map(), new Map()];
  const first = service.spec?.ipFamilies?.[0] ?? 'IPv4';
  for (const slice of slices) {
    const port = portOf(slice, portName);
    // Routers connect to addresses only.
    if (port === undefined || slice.addressType === 'FQDN') continue;
    const familyTier = slice.addressType === first ? 0 : 1;
    for (const endpoint of slice.endpoints ?? []) {
      const [address] = endpoint.addresses;
      const tier = tierOf(endpoint);
      if (address === undefined || tier === undefined) continue;
      tiers[tier + familyTier]?.set(`${address} ${port}`, { address, port });
    }
  }
  const best = tiers.find(({ size }) => size > 0) ?? new Map<string, Endpoint>();
  return [...best].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
}

function portOf({ ports }: EndpointSlice, name: string): number | undefined {
  const found = ports?.find((port) => (port.name ?? '') === name && (port.protocol ?? 'TCP') === 'TCP');
  return found?.port;
}

/**
 * A missing ready condition means ready, as the API of EndpointSlice defines. Undefined: the endpoint is not used.
 */
function tierOf({ conditions }: SliceEndpoint): 0 | 2 | undefined {
  const ready = conditions?.ready ?? true;
  if (ready) return 0;
  return conditions?.terminating === true && conditions.serving === true ? 2 : undefined;
}
