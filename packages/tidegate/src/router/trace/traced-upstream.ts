import { nodeOfEndpoint } from '../../ingress/endpoint-slices.ts';
import type { RouteTable } from '../../ingress/match/index.ts';
import type { RouteAction, Upstream } from '../../ingress/model.ts';
import type { Canary } from '../../ingress/policy/index.ts';
import type { EndpointVisibility } from '../../scope/index.ts';
import type { PoolSlices } from './pool-slices.ts';

/** An upstream with its weight in the route, and with all endpoints of its Service. */
export interface TracedUpstream extends Omit<Upstream, 'endpoints'> {
  weight: number;
  /** Only for requests for which this holds. */
  canary?: Canary;
  endpoints: readonly TracedEndpoint[];
}

/** One endpoint of a Service, and why it is not used. */
export interface TracedEndpoint {
  address: string;
  /** Undefined for an unused endpoint of a slice with several ports. */
  port: number | undefined;
  node: string | undefined;
  /** Whether requests may be sent to it. */
  used: boolean;
  /** The reason if it is not used. */
  why: string | undefined;
}

/** The upstreams of an action, with all endpoints of their Services, including those that are not used. */
export const traceUpstreams = (
  { backends }: RouteAction,
  table: RouteTable,
  slices: PoolSlices,
): TracedUpstream[] =>
  backends.flatMap(({ upstream: id, weight, canary }) => {
    const upstream = table.upstreams.get(id);
    if (upstream === undefined) return [];
    const { endpoints, ...rest } = upstream;
    const traced = [...usedOf(upstream, slices), ...unusedOf(upstream, slices)];
    return [{ ...rest, weight, ...(canary && { canary }), endpoints: traced }];
  });

function usedOf({ endpoints, namespace, service }: Upstream, slices: PoolSlices): TracedEndpoint[] {
  const checked = slices.checked(`${namespace}/${service}`);
  return endpoints.map(({ address, port }) => {
    const found = checked.find(({ endpoint }) => endpoint.addresses.includes(address));
    const node = found && nodeOfEndpoint(found.endpoint);
    return { address, port, node, used: true, why: undefined };
  });
}

function unusedOf({ endpoints, namespace, service }: Upstream, slices: PoolSlices): TracedEndpoint[] {
  const used = new Set(endpoints.map(({ address }) => address));
  return slices
    .checked(`${namespace}/${service}`)
    .filter(({ endpoint }) => !endpoint.addresses.some((address) => used.has(address)))
    .map(({ endpoint, ports, visibility }) => ({
      address: endpoint.addresses[0] ?? '',
      port: ports?.length === 1 ? ports[0]?.port : undefined,
      node: nodeOfEndpoint(endpoint),
      used: false,
      why:
        visibility?.visible === false ? reasonInWords(visibility, slices.pool) : stateOf(endpoint.conditions),
    }));
}

/** Why a router in the pool does not use an endpoint, in words for users. */
function reasonInWords({ reason, source }: EndpointVisibility, pool: string | undefined): string {
  switch (reason) {
    case 'UnknownService':
      return 'Service not found';
    case 'EndpointWithoutNode':
      return 'no nodeName, so its pool is unknown';
    case 'OtherNode':
      return `only clients on the same node use it, because of ${source} on the Service`;
    default:
      return `not in ${pool === undefined ? 'the pool of the router' : `pool ${pool}`}`;
  }
}

function stateOf(conditions: { ready?: boolean; terminating?: boolean } = {}): string {
  if (conditions.terminating === true) return 'terminating';
  return conditions.ready === false ? 'not ready' : 'not needed';
}
