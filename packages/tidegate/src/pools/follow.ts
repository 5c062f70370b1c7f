import { type Handler, type Informers, type KubeObject, NODES } from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../api/index.ts';
import { Membership } from './membership.ts';

export interface FollowedMembership {
  membership: Membership;
  /** Resolves when all nodes and pools are known. Before that, a node may seem to be in no pool. */
  synced: Promise<void>;
}

/** A membership that follows the cluster. Ask for it before anything else listens to the same informers. */
export function followMembership(informers: Informers): FollowedMembership {
  const membership = new Membership();
  const nodes = informers.for(NODES);
  const pools = informers.for(NODE_POOLS);
  const groups = informers.for(NODE_GROUPS);
  nodes.addHandler(telling((name, object) => membership.apply({ type: 'Node', name, object })));
  pools.addHandler(telling((name, object) => membership.apply({ type: 'NodePool', name, object })));
  groups.addHandler(telling((name, object) => membership.apply({ type: 'NodeGroup', name, object })));
  const synced = Promise.all([nodes.synced, pools.synced, groups.synced]).then(() => {});
  return { membership, synced };
}

/** To whom it is all the same how an object came to be as it is. */
function telling<T extends KubeObject>(tell: (name: string, object: T | undefined) => void): Handler<T> {
  const nameOf = (object: T): string => object.metadata.name ?? '';
  return {
    onAdd: (object) => tell(nameOf(object), object),
    onUpdate: (_, object) => tell(nameOf(object), object),
    onDelete: (object) => tell(nameOf(object), undefined),
  };
}
