import type { EndpointSlice, Service } from '@tidegate/kube';
import type { Endpoint } from '../model.ts';

type SliceEndpoint = NonNullable<EndpointSlice['endpoints']>[number];

/**
 * Where the requests for one port of a Service go: to what is ready, and only when nothing is left of that, to what
 * ends but still answers. Of a Service with two address families to its first one, as both lead to the same pods.
 */
export function endpointsOf(
  service: Service,
  portName: string,
  slices: Iterable<EndpointSlice>,
): readonly Endpoint[] {
  const tiers: Map<string, Endpoint>[] = [new Map(), new Map(), new Map(), new Map()];
  const first = service.spec?.ipFamilies?.[0] ?? 'IPv4';
  for (const slice of slices) {
    const port = portOf(slice, portName);
    // Names are for clients that resolve them; what a slice lists for a router are addresses.
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

/** What says nothing counts as ready. */
function tierOf({ conditions }: SliceEndpoint): 0 | 2 | undefined {
  const ready = conditions?.ready ?? true;
  if (ready) return 0;
  return conditions?.terminating === true && conditions.serving === true ? 2 : undefined;
}
