/** What the filters of endpoints share: slices and Endpoints objects alike, judged by the scope engine. */
import {
  type EndpointSlice,
  type Endpoints,
  type KubeObject,
  keyOf,
  type Metrics,
  serviceOfSlice,
} from '@tidegate/kube';
import {
  type ClientView,
  dependsOnPools,
  filterEndpointSlice,
  filterEndpoints,
  nodesOfEndpoints,
  nodesOfSlice,
  type VisibilityReason,
} from '../../scope/index.ts';

const isEndpoints = (object: KubeObject): object is Endpoints => object.kind === 'Endpoints';

/** `namespace/name` of the Service whose endpoints these are; undefined when nothing says so. */
export const serviceOf = (object: KubeObject): string | undefined =>
  isEndpoints(object) ? keyOf(object) : serviceOfSlice(object as EndpointSlice);

/** Drops the endpoints that may not be seen, and counts them by reason. */
export class EndpointSieve {
  readonly #count: (reason: VisibilityReason, endpoints: number) => void;

  constructor(filter: string, metrics: Metrics) {
    const counter = metrics.counter('hub_endpoints_withheld_total', {
      help: 'Endpoints that a filter has withheld from a component, each time their object was filtered',
      labels: ['filter', 'reason'],
    });
    this.#count = (reason, endpoints) => counter.inc({ filter, reason }, endpoints);
  }

  pass(object: KubeObject, view: ClientView): KubeObject {
    const { object: left, withheld } = isEndpoints(object)
      ? filterEndpoints(object, view)
      : filterEndpointSlice(object as EndpointSlice, view);
    const byReason = new Map<VisibilityReason, number>();
    for (const { reason } of withheld) byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
    for (const [reason, endpoints] of byReason) this.#count(reason, endpoints);
    return left;
  }
}

/** The nodes whose pools decide what is seen of the object: none while nothing restricts it to a pool. */
export function dependencyOnPools(object: KubeObject, view: ClientView): string[] {
  if (!dependsOnPools(view)) return [];
  const nodes = isEndpoints(object) ? nodesOfEndpoints(object) : nodesOfSlice(object as EndpointSlice);
  nodes.add(view.clientNode);
  return Array.from(nodes, (node) => `node:${node}`);
}
