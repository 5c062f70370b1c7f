import { type EndpointSlice, type Informers, NODES, type Node } from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';
import { nodeOfEndpoint } from './endpoint-slices.ts';

/** The nodes of one pool, by their label: the NodePool or the NodeGroup of that name. */
export class PoolNodes {
  /** Resolves when both informers are synced. */
  readonly synced: Promise<unknown>;
  readonly #informers;
  readonly #listeners = new Set<(node: string) => void>();

  constructor(informers: Informers, pool: string) {
    this.#informers = [NODE_POOL_LABEL, NODE_GROUP_LABEL].map((label) =>
      informers.for(NODES, { labelSelector: `${label}=${pool}` }),
    );
    const notify = ({ metadata }: Node): void => {
      for (const listener of this.#listeners) listener(`${metadata.name}`);
    };
    for (const informer of this.#informers) informer.addHandler({ onAdd: notify, onDelete: notify });
    this.synced = Promise.all(this.#informers.map((informer) => informer.synced));
  }

  has(node: string): boolean {
    return this.#informers.some(({ cache }) => cache.get(node) !== undefined);
  }

  /** `listener` is called with each node that joins or leaves the pool. Returns a function that removes it. */
  onChange(listener: (node: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The slice without endpoints on other nodes. An endpoint without a node is outside every pool. */
export function withoutOtherNodes(nodes: PoolNodes | undefined, slice: EndpointSlice): EndpointSlice {
  if (nodes === undefined) return slice;
  const seen = (slice.endpoints ?? []).filter((endpoint) => nodes.has(nodeOfEndpoint(endpoint) ?? ''));
  return seen.length === slice.endpoints?.length ? slice : { ...slice, endpoints: seen };
}
