import { type Handler, type Informers, type KubeObject, NODES } from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../api/index.ts';
import { Membership } from './membership.ts';

export interface FollowedMembership {
  membership: Membership;
  /** Resolves when all nodes and pools are loaded. Before that, a node may appear to be in no pool. */
  synced: Promise<void>;
}

/**
 * Creates a Membership that follows the cluster. Call this before other handlers are added to the same informers: they
 * run in order, so later handlers then see a membership that is up to date.
 */
export function followMembership(informers: Informers): FollowedMembership {
  const membership = new Membership();
  const nodes = informers.for(NODES);
  const pools = informers.for(NODE_POOLS);
  const groups = informers.for(NODE_GROUPS);
  nodes.addHandler(handlerFor((name, object) => membership.apply({ type: 'Node', name, object })));
  pools.addHandler(handlerFor((name, object) => membership.apply({ type: 'NodePool', name, object })));
  groups.addHandler(handlerFor((name, object) => membership.apply({ type: 'NodeGroup', name, object })));
  const synced = Promise.all([nodes.synced, pools.synced, groups.synced]).then(() => {});
  return { membership, synced };
}

/** A handler that treats added and updated objects the same. */
function handlerFor<T extends KubeObject>(apply: (name: string, object: T | undefined) => void): Handler<T> {
  const nameOf = (object: T): string => object.metadata.name ?? '';
  return {
    onAdd: (object) => apply(nameOf(object), object),
    onUpdate: (_, object) => apply(nameOf(object), object),
    onDelete: (object) => apply(nameOf(object), undefined),
  };
}
