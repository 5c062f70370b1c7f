/** The common part of the filters of endpoints. EndpointSlices and Endpoints are treated alike; scope/ decides. */
import {
  type EndpointSlice,
  type Endpoints,
  type KubeObject,
  keyOf,
  type Metrics,
  serviceOfSlice,
} from '@tidegate/kube';
import {
  dependsOnPools,
  type EndpointClient,
  filterEndpointSlice,
  filterEndpoints,
  nodesOfEndpoints,
  nodesOfSlice,
  type VisibilityReason,
} from '../../scope/index.ts';

const isEndpoints = (object: KubeObject): object is Endpoints => object.kind === 'Endpoints';

/** The `namespace/name` of the Service that the endpoints belong to. Undefined: a slice without the label of a Service. */
export const serviceOf = (object: KubeObject): string | undefined =>
  isEndpoints(object) ? keyOf(object) : serviceOfSlice(object as EndpointSlice);

/** Removes the endpoints that a client must not see, and counts them by reason. */
export class ScopeFilter {
  readonly #count: (reason: VisibilityReason, endpoints: number) => void;

  constructor(filter: string, metrics: Metrics) {
    const counter = metrics.counter('tidegate_hub_endpoints_withheld_total', {
      help: 'Endpoints that a filter removed from responses, by filter and reason. Counted each time an object is filtered.',
      labels: ['filter', 'reason'],
    });
    this.#count = (reason, endpoints) => counter.inc({ filter, reason }, endpoints);
  }

  /** Returns the same object if nothing is removed. */
  apply(object: KubeObject, client: EndpointClient): KubeObject {
    const { object: filtered, withheld } = isEndpoints(object)
      ? filterEndpoints(object, client)
      : filterEndpointSlice(object as EndpointSlice, client);
    const byReason = new Map<VisibilityReason, number>();
    for (const { reason } of withheld) byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
    for (const [reason, endpoints] of byReason) this.#count(reason, endpoints);
    return filtered;
  }
}

/** The nodes whose pools decide which endpoints are visible. None if the Service is not limited to a pool. */
export function dependencyOnPools(object: KubeObject, client: EndpointClient): string[] {
  if (!dependsOnPools(client)) return [];
  const nodes = isEndpoints(object) ? nodesOfEndpoints(object) : nodesOfSlice(object as EndpointSlice);
  nodes.add(client.clientNode);
  return Array.from(nodes, (node) => `node:${node}`);
}
