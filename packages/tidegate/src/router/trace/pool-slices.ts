import { type EndpointSlice, keyOf, type Node, type Service, serviceOfSlice } from '@tidegate/kube';
import type { NodeGroup, NodePool, PoolKind } from '../../api/index.ts';
import { nodeOfEndpoint } from '../../ingress/endpoint-slices.ts';
import { Membership } from '../../pools/index.ts';
import {
  type EndpointClient,
  type EndpointVisibility,
  endpointCheck,
  filterEndpointSlice,
} from '../../scope/index.ts';

/** The objects that decide which endpoints a router in a pool uses. */
export interface ScopeObjects {
  services: readonly Service[];
  slices: readonly EndpointSlice[];
  nodes: readonly Node[];
  nodePools: readonly NodePool[];
  nodeGroups: readonly NodeGroup[];
}

const KINDS: readonly PoolKind[] = ['NodePool', 'NodeGroup'];

/** The user asked for a pool that does not exist. */
export class UnknownPoolError extends Error {
  override readonly name = 'UnknownPoolError';
}

/** A placeholder for any node of the pool. */
const ROUTER_NODE = '';

/** EndpointSlices as a router in a pool sees them; without a pool, all endpoints. */
export class PoolSlices {
  readonly pool: string | undefined;
  readonly #slices: readonly EndpointSlice[];
  readonly #clientOf: ((service: string) => EndpointClient) | undefined;

  constructor(objects: ScopeObjects, pool: string | undefined) {
    this.pool = pool;
    this.#slices = objects.slices;
    if (pool === undefined) return;
    const membership = membershipOf(objects);
    const kind = KINDS.find((each) => membership.hasPool(each, pool));
    if (kind === undefined)
      throw new UnknownPoolError(
        `there is no NodePool or NodeGroup ${pool}. To list them, run: kubectl get nodepools,nodegroups`,
      );
    const services = new Map(objects.services.map((service) => [keyOf(service), service]));
    this.#clientOf = (service) => ({
      membership: {
        poolOf: (each, node) =>
          node !== ROUTER_NODE ? membership.poolOf(each, node) : each === kind ? pool : undefined,
      },
      service: services.get(service),
      clientNode: ROUTER_NODE,
      ingressController: true,
    });
  }

  /** The slices with only the endpoints that the router uses. */
  visible(): EndpointSlice[] {
    const clientOf = this.#clientOf;
    if (clientOf === undefined) return [...this.#slices];
    return this.#slices.map(
      (slice) => filterEndpointSlice(slice, clientOf(serviceOfSlice(slice) ?? '')).object,
    );
  }

  /** All endpoints of a Service, each with its visibility under the scope rules. */
  checked(service: string): {
    endpoint: SliceEndpoint;
    ports: EndpointSlice['ports'];
    visibility: EndpointVisibility | undefined;
  }[] {
    const client = this.#clientOf?.(service);
    const check = client && endpointCheck(client);
    return this.#slices
      .filter((slice) => serviceOfSlice(slice) === service)
      .flatMap(({ endpoints, ports }) =>
        (endpoints ?? []).map((endpoint) => ({
          endpoint,
          ports,
          visibility: check?.(nodeOfEndpoint(endpoint)),
        })),
      );
  }
}

export type SliceEndpoint = NonNullable<EndpointSlice['endpoints']>[number];

function membershipOf({ nodes, nodePools, nodeGroups }: ScopeObjects): Membership {
  const membership = new Membership();
  for (const object of nodePools)
    membership.apply({ type: 'NodePool', name: `${object.metadata.name}`, object });
  for (const object of nodeGroups)
    membership.apply({ type: 'NodeGroup', name: `${object.metadata.name}`, object });
  for (const object of nodes) membership.apply({ type: 'Node', name: `${object.metadata.name}`, object });
  return membership;
}
