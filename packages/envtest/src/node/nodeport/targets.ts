import type { EndpointSlice, Service } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';

/** Where to connect to. */
export interface Endpoint {
  address: string;
  port: number;
}

/** One listener of a node, and the endpoints of its connections. */
export interface Target {
  nodePort: number;
  endpoints: Endpoint[];
  /** How long a client stays with its endpoint; undefined without session affinity. */
  affinityMs: number | undefined;
}

const DEFAULT_AFFINITY_SECONDS = 10_800;

/** The listeners that a Service needs on one node, from all its EndpointSlices. */
export function targetsOf(service: Service, slices: readonly EndpointSlice[], nodeName: string): Target[] {
  const {
    type,
    ports = [],
    externalTrafficPolicy,
    sessionAffinity,
    sessionAffinityConfig,
  } = service.spec ?? {};
  if (type !== 'NodePort' && type !== 'LoadBalancer') return [];
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS;
  return ports.filter(isTcp).flatMap((port) => {
    if (port.nodePort === undefined || port.nodePort === 0) return [];
    const onlyNode = externalTrafficPolicy === 'Local' ? nodeName : undefined;
    const endpoints = endpointsOf(port, slices, onlyNode);
    const affinityMs = sessionAffinity === 'ClientIP' ? seconds * 1000 : undefined;
    return [{ nodePort: port.nodePort, endpoints, affinityMs }];
  });
}

const isTcp = ({ protocol }: { protocol?: string }): boolean => protocol === undefined || protocol === 'TCP';

/** The ready endpoints; while there are none, those that are terminating but still serving (KEP-1669). */
function endpointsOf(
  { name = '' }: core.ServicePort,
  slices: readonly EndpointSlice[],
  onlyNode: string | undefined,
): Endpoint[] {
  const ready = new Map<string, Endpoint>();
  const terminating = new Map<string, Endpoint>();
  for (const slice of slices) {
    const port = slice.ports?.find((candidate) => (candidate.name ?? '') === name && isTcp(candidate))?.port;
    if (port === undefined || slice.addressType !== 'IPv4') continue;
    for (const { addresses, conditions, nodeName } of slice.endpoints ?? []) {
      const [address] = addresses;
      if (address === undefined || (onlyNode !== undefined && nodeName !== onlyNode)) continue;
      // An unknown condition counts as ready.
      if (conditions?.ready !== false) ready.set(address, { address, port });
      else if (conditions.serving === true && conditions.terminating === true) {
        terminating.set(address, { address, port });
      }
    }
  }
  return [...(ready.size > 0 ? ready : terminating).values()];
}
