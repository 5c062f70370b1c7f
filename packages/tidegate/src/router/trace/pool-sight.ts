import { type EndpointSlice, keyOf, type Node, type Service, serviceOfSlice } from '@tidegate/kube';
import type { NodeGroup, NodePool, PoolKind } from '../../api/index.ts';
import { Membership } from '../../pools/index.ts';
import {
  type ClientView,
  type EndpointVerdict,
  endpointCheck,
  filterEndpointSlice,
} from '../../scope/index.ts';

/** What decides which endpoints a router in a pool sees. */
export interface PoolSight {
  services: readonly Service[];
  slices: readonly EndpointSlice[];
  nodes: readonly Node[];
  nodePools: readonly NodePool[];
  nodeGroups: readonly NodeGroup[];
}

const KINDS: readonly PoolKind[] = ['NodePool', 'NodeGroup'];

export class UnknownPoolError extends Error {
  override readonly name = 'UnknownPoolError';
}

/** Stands for any node of the pool. */
const ROUTER_NODE = '';

/** EndpointSlices as a router in a pool sees them; without a pool, as they are. */
export class SlicesOfPool {
  readonly #slices: readonly EndpointSlice[];
  readonly #viewOf: ((service: string) => ClientView) | undefined;

  constructor(sight: PoolSight, pool: string | undefined) {
    this.#slices = sight.slices;
    if (pool === undefined) return;
    const membership = membershipOf(sight);
    const kind = KINDS.find((each) => membership.hasPool(each, pool));
    if (kind === undefined) throw new UnknownPoolError(`there is no NodePool or NodeGroup ${pool}.`);
    const services = new Map(sight.services.map((service) => [keyOf(service), service]));
    this.#viewOf = (service) => ({
      membership: {
        poolOf: (each, node) =>
          node !== ROUTER_NODE ? membership.poolOf(each, node) : each === kind ? pool : undefined,
      },
      service: services.get(service),
      clientNode: ROUTER_NODE,
      ingressController: true,
    });
  }

  visible(): EndpointSlice[] {
    const viewOf = this.#viewOf;
    if (viewOf === undefined) return [...this.#slices];
    return this.#slices.map(
      (slice) => filterEndpointSlice(slice, viewOf(serviceOfSlice(slice) ?? '')).object,
    );
  }

  /** All endpoints of a Service, with what is said about each. */
  judged(
    service: string,
  ): { endpoint: SliceEndpoint; ports: EndpointSlice['ports']; verdict: EndpointVerdict | undefined }[] {
    const view = this.#viewOf?.(service);
    const check = view && endpointCheck(view);
    return this.#slices
      .filter((slice) => serviceOfSlice(slice) === service)
      .flatMap(({ endpoints, ports }) =>
        (endpoints ?? []).map((endpoint) => ({ endpoint, ports, verdict: check?.(endpoint.nodeName) })),
      );
  }
}

export type SliceEndpoint = NonNullable<EndpointSlice['endpoints']>[number];

function membershipOf({ nodes, nodePools, nodeGroups }: PoolSight): Membership {
  const membership = new Membership();
  for (const object of nodePools)
    membership.apply({ type: 'NodePool', name: `${object.metadata.name}`, object });
  for (const object of nodeGroups)
    membership.apply({ type: 'NodeGroup', name: `${object.metadata.name}`, object });
  for (const object of nodes) membership.apply({ type: 'Node', name: `${object.metadata.name}`, object });
  return membership;
}
