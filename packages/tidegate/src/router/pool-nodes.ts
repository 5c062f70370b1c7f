import { type Informers, NODES, type Node } from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';

/** The nodes of one pool, by the labels that say so: those of a NodePool, or of a NodeGroup of that name. */
export class PoolNodes {
  /** Resolves when all are known. */
  readonly synced: Promise<unknown>;
  readonly #informers;
  readonly #listeners: ((node: string) => void)[] = [];

  constructor(informers: Informers, pool: string) {
    this.#informers = [NODE_POOL_LABEL, NODE_GROUP_LABEL].map((label) =>
      informers.for(NODES, { labelSelector: `${label}=${pool}` }),
    );
    const tell = ({ metadata }: Node): void => {
      for (const listener of this.#listeners) listener(`${metadata.name}`);
    };
    for (const informer of this.#informers) informer.addHandler({ onAdd: tell, onDelete: tell });
    this.synced = Promise.all(this.#informers.map((informer) => informer.synced));
  }

  has(node: string): boolean {
    return this.#informers.some(({ cache }) => cache.get(node) !== undefined);
  }

  /** Called with every node that has come or gone. */
  onChange(listener: (node: string) => void): void {
    this.#listeners.push(listener);
  }
}
